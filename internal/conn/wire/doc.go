// Package wire turns what a connection file says about address and headers into what a request carries.
//
//	wire, err := wire.Resolve(ctx, secrets, wire.Request{Connection: "crm", URL: "https://${CRM_HOST}/mcp", Auth: auth}, run)
//
// Promises:
//
//	W1  a resolved URL obeys the rules of a written one, whatever its variables hold.
//	W2  a header is complete or there is no request: a value that is missing, null, empty, unfit or too long is an error.
//	W3  an error names the connection, and the path of the stored value or the member of the context, and holds no value.
//	W4  each stored value is read once for one request, and everything that is missing is named at once.
//	W5  of two header names that some server takes for one, and of those of HTTP, the protocol and the gateway, none passes for another.
//
// Whether the address may be dialled is left to the caller.
package wire
