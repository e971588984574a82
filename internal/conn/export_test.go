package conn

// Field is an entry of the table of fields, for the test that compares it with the reference.
type Field struct {
	Name, Doc string
}

// Fields returns the table of fields.
func Fields() []Field {
	var list []Field
	for _, f := range fields() {
		list = append(list, Field{f.name, f.doc})
	}
	return list
}

// UnsupportedFields returns the keys that are known and refused.
func UnsupportedFields() []string { return unsupportedFields() }
