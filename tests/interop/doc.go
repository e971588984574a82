// Package interop shows the gateway to software that nobody here wrote: the public test server of the MCP project behind a
// connection, and in front of the endpoint the MCP Inspector, the TypeScript SDK 1.x and the TypeScript client 2.x, in each
// protocol era they speak.
//
//	make interop
//
// installs the tools (pinned in package.json, by checksum in package-lock.json), runs TestInterop and prints how many checks
// passed. What each client gets through the gateway is compared with what the SDK gets from the server directly. Between the
// gateway and the server stands a counting relay, so that "nothing was sent" and "sent once" are seen on the wire. The same clients list
// what twelve kinds of servers list, 1,110 tools on two pages, and read answers that do not have the form of a tool's output schema.
//
// TestShapesThroughTheGateway needs no Node: it holds each of those definitions against its server's, byte for byte.
//
// It leaves the protocol surface, requirement by requirement, to the official conformance suite, and what happens when
// something crashes to tests/e2e.
package interop
