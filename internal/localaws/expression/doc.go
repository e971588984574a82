// Package expression reads and evaluates DynamoDB's expression languages: conditions and
// filters, key conditions, projections and updates.
//
// One request shares one set of placeholders between its expressions:
//
//	placeholders, err := expression.NewPlaceholders(names, values)
//	condition, err := placeholders.Condition("ConditionExpression", "#s = :parked")
//	update, err := placeholders.Update("SET #s = :approved")
//	err = placeholders.Unused()             // a name or value that nothing used is an error
//	if condition.Holds(item) { item, err = update.Apply(item) }
//
// It promises:
//
//	X1  An expression that DynamoDB's grammar does not have is refused before anything is
//	    evaluated, with the expression's kind and the offending token.
//	X2  Evaluation never changes the item it looks at: an update returns a new item.
//	X3  Every operand of an update reads the item as it was before the update, whatever the
//	    order of the clauses.
//	X4  A comparison with a missing attribute, or between kinds, is false (only <> between
//	    different values is true), as DynamoDB decides it.
//
// DynamoDB refuses a bare attribute name that is one of its 573 reserved words. There is no
// such list here: callers are to write every name as a #placeholder, and BareNames returns
// those that were not, so that a test can insist.
//
// Which attributes are keys, and what may be stored, is left to package dynamo.
//
// Source: "Using expressions in DynamoDB" in the Amazon DynamoDB Developer Guide.
package expression
