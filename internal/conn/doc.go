// Package conn turns connection files into validated connections, or into problems that say where they are.
//
// A connection file is data only: it names one remote MCP server, how to authenticate to it, and which of its calls wait for
// a person. A mistake in it must never become a weaker gate, so nothing is guessed: a key that is misspelt, a value that is
// nearly right and YAML that two readers could read differently are problems, and a file with a problem yields no connection.
//
//	connections, problems := conn.Load(os.DirFS("."), "connections")
//	if len(problems) > 0 {
//		conn.Render(os.Stderr, problems, conn.Sources(os.DirFS("."), problems), conn.Options{Caret: true})
//		return problems
//	}
//	for _, c := range connections {
//		offered, _ := c.OffersTool(tool, run)              // conditions over the context of who calls
//		decision := c.Gate(tool, arguments, run)           // does this call wait, and for how many people?
//		wire, err := c.Resolve(ctx, secrets, run)          // at call time: variables, context and the credential
//		...
//	}
//
// Promises:
//
//	C1  a Connection comes only from a file without a problem; Load returns all connections or none.
//	C2  all problems of all files are reported at once, in the order file, line, column; the same input gives the same bytes.
//	C3  a key or value that is not exactly one of the documented ones is a problem, never a default.
//	C4  what is checked is what a reader of the file sees: no second document, anchor, alias, merge, tag, duplicate key or
//	    hidden character survives.
//	C5  no message, hint or rendered line shows a credential, or text that looks like one.
//	C6  a URL is https, or http to this machine, without user and password, and without a credential in its query: in the
//	    file, and again once its variables have their values.
//	C7  no input makes the package panic, and its cost is bounded by 64 KiB a file.
//	C8  an error of Resolve names the connection and the path of the value, never the value.
//	C9  what is missing of a context withholds: a connection or tool whose condition cannot be judged is not there.
//	C10 what is missing of a call never weakens its gate: a rule that cannot be judged waits, as strictly as any rule that might
//	    have decided instead.
//	C11 a key that nothing honours yet is checked like the others, and its connection is refused by Load.
//	C12 a header is sent with all that the file says belongs to it, or the call is not sent.
//
// The fields are the table in fields.go: one entry is one key of the format, with the rules it can break and its part of the JSON
// Schema. Each rule has one example in testdata and one section in docs/connections.md, which a test compares. How a file is read as
// strict YAML is package yamldoc, what a problem is and how it is shown package diag, countersign.yml package deployment.
//
// What it leaves to others: whether an address may be dialled (upstream), whether the server answers and what its tools are
// called (catalog), and whether an approver exists (the deployment-wide settings).
package conn
