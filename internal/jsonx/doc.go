// Package jsonx reads JSON the strict way and never re-encodes what it was given.
//
// Two parsers that read one text differently are how a call that was approved
// becomes another call that is sent: a folded member name, a duplicate that
// wins, an integer that passes through float64. This package stands in front of
// every other decoder. It accepts only texts that all parsers read alike, hands
// out members as the bytes they arrived in, edits a single member without
// touching its neighbours, and computes the fingerprint by which two calls are
// held to be the same call.
//
//	if err := jsonx.Check(body, jsonx.Limits{}); err != nil {
//		return err // *jsonx.SyntaxError: offset and reason
//	}
//	request, err := jsonx.ParseObject(body)
//	if err := request.Only("jsonrpc", "id", "method", "params"); err != nil { ... }
//	params, _ := request.Get("params")             // the received bytes
//	body, err = jsonx.Set(body, "id", []byte("7")) // only that member changes
//	same, err := jsonx.Fingerprint(arguments)      // joins re-sent calls
//	shown := jsonx.Digest(arguments)               // binds the exact bytes
//
// # Promises
//
//   - J1. What Check accepts is one value in valid UTF-8 with no duplicate member
//     name at any depth (names compared after unescaping), no lone surrogate, and
//     within the limits; nothing follows it but white space.
//   - J2. A number is never converted. It is checked against the grammar and kept
//     as bytes; 1e400 and 9007199254740993 are fine.
//   - J3. A member that could be taken for a known one by a decoder which folds
//     case or stops at a control character is refused, not ignored.
//   - J4. Set and Remove change one top-level member; all other bytes stay.
//   - J5. Texts which differ only in member order, white space, escape spelling or
//     number spelling have one fingerprint; texts which differ in a value do not.
//   - J6. Work and memory are linear in the input, except sorting; no recursion is
//     deeper than the depth limit.
//
// # Left to others
//
// Schemas, JSON-RPC rules and HTTP sizes belong to the callers. Nothing here
// binds a decision: a decision binds the bytes (Digest), never the canonical
// form.
package jsonx
