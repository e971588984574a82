// Package yamldoc reads one YAML file strictly: what it returns is what a reader of the file sees.
//
//	r := yamldoc.New("connections/crm.yml", "a connection file")
//	if root := r.Document(src); root != nil {
//		for key, value := range yamldoc.Pairs(root) {
//			text, ok := r.Text(value, key.Value)
//			...
//		}
//	}
//	return r.Problems()
//
// Promises:
//
//	Y1  nothing is decoded before it is known to be short, UTF-8 and free of characters that end a line for YAML only.
//	Y2  a second document, anchor, alias, merge key, tag, duplicate key or hidden character, at any depth, is a problem.
//	Y3  a scalar is its text as written: 0123 and 1.10 stay what they are, and no is not false.
//	Y4  a problem stands where its cause stands, also inside of a scalar (At).
//	Y5  no input makes it panic, and its cost is bounded by MaxFileSize.
//
// Which keys there are, and what their values may be, is left to those who read the nodes.
package yamldoc
