// Package attr holds DynamoDB attribute values: their JSON form, their size as DynamoDB
// bills it, their order and equality, and exact decimal numbers.
//
//	item, err := attr.DecodeItem(raw)       // {"p":{"S":"a"},"n":{"N":"1.50"}}
//	item["n"].Number.String()               // "1.5"
//	item.Size()                             // bytes, for the 400 KB limit and capacity units
//	attr.Compare(a, b)                      // order of two key values of one kind
//	packed := attr.Pack(item)               // as it is stored: small, immutable, read by name
//	due, ok := packed.Get("due")
//
// It promises:
//
//	V1  A number keeps up to 38 significant digits exactly, through storage, arithmetic and
//	    comparison; one that would not fit is refused, never rounded.
//	V2  Values are immutable once decoded. An update builds a new Value around the parts it
//	    keeps, so that a reader never sees half of a write.
//	V3  What is written is what is read back: kinds, bytes, empty strings and empty lists.
//	V4  A Packed holds what the Item it was made of holds, in a few bytes per attribute more
//	    than Size counts.
//
// Expressions over values are package expression; keys and limits are package dynamo.
//
// Source: "Supported data types and naming rules" and "DynamoDB item sizes and formats" in
// the Amazon DynamoDB Developer Guide.
package attr
