// Package catalog holds the tools that are served, under the names they are served by.
//
// It is built once, when the app is deployed: every connection is asked for its tools, each definition is judged, and the
// result is one file that the functions read. At run time nothing is discovered, so a server that is down, or that lists
// something else today, cannot change what a client sees or what an approval is for.
//
//	cat, err := catalog.Build(ctx, connections, catalog.Options{Discover: upstream.New(...), Secrets: secrets})
//	var problems *catalog.BuildError // all problems of all connections, each with its cure
//	file, err := cat.Encode()
//
//	cat, err = catalog.Decode(file)
//	tool, ok := cat.Find("crm__search")
//	err = tool.Validate(arguments) // *catalog.ArgumentError: what is wrong, by path
//
//	changes, compared := cat.Drift(connections, catalog.List(ctx, connections, options)) // daily: what a new build would find
//
// Promises:
//
//	K1  every tool of every connection is in the catalog, or Build fails and names it. Only what the connection's own tools list
//	    leaves out is left out, and, with a warning, a tool whose x-mcp-header annotations the protocol has clients refuse.
//	K2  an outage is never an empty set: a server that cannot be asked, or that lists nothing, is a problem, or, for an
//	    optional connection, an entry of LeftOut with the reason. All are asked side by side, each within one deadline.
//	K3  served names are unique, at most 64 characters of a-z, A-Z, 0-9, _ and -, and never those of the gateway's own tools. The
//	    line of the connection file that a problem proposes cures it.
//	K4  a definition is served as the server sent it: only its name changes, a root schema without a type gets the type it
//	    must have, and an output schema goes where a call can wait for a person.
//	K5  a schema that is accepted compiles without any other document and validates in bounded time and stack.
//	K6  Encode gives the same bytes for the same input, and Decode gives back what was encoded.
//	K7  validating converts no number: 9007199254740993 is not 9007199254740992.
//	K8  no definition holds text that a model reads and a reviewer does not see; each problem names the character and its place.
//
// Its parts: schema (what a server may call an input schema), search (which tools a question is about), text (hidden characters), diff
// (what changed between two lists), lock (what was reviewed).
//
// What it leaves to others: reaching a server (upstream), who may see a tool and how a list is paged (gateway).
package catalog
