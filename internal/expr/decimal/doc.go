// Package decimal holds the numbers of JSON by their exact value, to compare them and to write them.
//
//	amount, ok := decimal.Parse("1.50e3")
//	amount.Compare(limit)       // -1, 0 or 1
//	amount.String()             // "1500"
//	text, ok := amount.Plain(60) // the same, or false where that would have more than 60 digits
//
// Promises:
//
//	N1  no number is rounded: 9007199254740993 and 0.1000000000000000055 keep their digits, and 1.0 is 1.
//	N2  a number takes memory and time by its own length, never by its exponent: 1e999999 is one digit. What is longer than
//	    MaxLength, or beyond MaxExponent, is not a number.
//	N3  what Parse accepts is the grammar of RFC 8259, section 6; String writes it, and parses to the same number.
//
// Arithmetic is left to nobody: there is none.
package decimal
