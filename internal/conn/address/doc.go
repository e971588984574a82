// Package address judges the URLs that calls are sent to, with and without their variables.
//
//	segments, err := address.Split("https://${HOST}/mcp")
//	faults := address.Check(address.Probe(segments))                       // what is wrong already
//	faults = address.Check(address.Fill(segments, valueOf))                // what is wrong with the real one
//
// Promises:
//
//	A1  a URL without a fault is https, or http to this machine by name or loopback address, has neither user nor password,
//	    no query parameter named like a credential, and a host that everyone reads as the same host.
//	A2  no fault repeats any part of the URL but its scheme.
//	A3  a URL whose variables are not known yet has no fault that their values could cure. An @ in what is written of the
//	    host is a user name even so.
//
// Whether the host may be dialled, by the address it resolves to, is left to the caller's dialler.
package address
