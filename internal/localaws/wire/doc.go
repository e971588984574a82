// Package wire is the part of the AWS JSON protocols that DynamoDB (1.0) and Systems
// Manager (1.1) share: how a request body is read, how an answer is written, and what an
// error looks like to an SDK.
//
// Services return a plain value or an error; one place turns it into bytes:
//
//	var in putItemInput
//	if err := wire.Decode("PutItem", body, &in); err != nil {
//		return nil, err
//	}
//	...
//	wire.Answer(w, wire.DynamoDB, id, out)
//	wire.Fail(w, wire.DynamoDB, id, err)
//
// It promises:
//
//	P1  A request member that the input type does not name is refused by that name, so a
//	    caller never believes in a parameter that had no effect.
//	P2  An error that is not an *Error reaches the caller as InternalServerError (500),
//	    whose outcome is unknown by AWS's own words, never as a refusal.
//	P3  Every answer carries a request id, its exact length and its CRC-32, which the
//	    DynamoDB client compares.
//
// Routing, faults and accounting are left to package localaws.
package wire
