// Package schema judges the input schemas of strangers and validates arguments against those it let through.
//
// A validator has no time budget of its own and a schema is a program, so what could loop, explode or fetch is refused when the
// catalog is built, and never reaches a call.
//
//	a, err := schema.Admit(input)   // at deploy; the error says why the schema cannot be used
//	a.Cost                          // the most subschemas that apply to one value inside the arguments
//	a.Unchecked                     // patterns that only the server can check, for the operator to know
//
//	s, err := schema.Compile(input, a.Cost) // in the function, at the tool's first call
//	problems, err := s.Validate(arguments)  // what is wrong with the arguments, by path
//
// Promises:
//
//	J1  what Admit accepts compiles without any other document: nothing is fetched, whatever a schema refers to.
//	J2  what Admit accepts validates in bounded time and stack, and Admit itself is bounded.
//	J3  validating converts no number: 9007199254740993 is not 9007199254740992.
//	J4  a pattern that cannot be checked here is left to the server. Leaving it out never makes a schema stricter, so arguments that
//	    the whole schema takes are never refused because of it.
//	J5  problems name members and what is expected, never a value of the caller.
//
// What it leaves to others: the rest of a tool's definition (catalog), and the size of arguments (gateway).
package schema
