package conn

import "github.com/countersign-mcp/countersign/internal/conn/deployment"

// Field is an entry of the table of fields, for the test that compares it with the reference.
type Field struct {
	Name, Doc, Example string
}

// Fields returns the table of fields.
func Fields() []Field {
	var list []Field
	for _, f := range fields() {
		list = append(list, Field{f.name, f.doc, f.example})
	}
	return list
}

// SettingsFields returns the keys of countersign.yml.
func SettingsFields() []Field {
	var list []Field
	for _, f := range deployment.Keys() {
		list = append(list, Field{Name: f[0], Doc: f[1]})
	}
	return list
}
