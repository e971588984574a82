// Package finder holds the gateway's two tools for connections that are searched instead of listed: search_tools, which finds tools for a
// question, and call_tool, which calls one.
//
//	q, err := finder.ParseSearch(arguments)              // of search_tools
//	reply := finder.Found(catalog.Search(q.Text, q.Limit, ...))
//
//	inner, err := finder.ParseCall(request)              // of call_tool: the call that it stands for
//	own := finder.Definitions(...)                       // for tools/list
//
// Promises:
//
//	B1  a definition is found in the bytes in which tools/list would show it.
//	B2  the call that call_tool stands for has the received bytes of its arguments, and the key, _meta and session of the request: nothing
//	    tells it from a direct call.
//	B3  a tool of the gateway itself is not called through call_tool.
//
// Which tools a caller may find and call is left to the gateway, which asks plan.Visible for both.
package finder
