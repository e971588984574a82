package mcpserver

import "github.com/countersign-mcp/countersign/internal/fault"

// Decode hands the strict decoder to the tests: whether a body is accepted, and the parts that the gateway would see.
func Decode(body []byte) (ok bool, id, method, arguments string) {
	m, bad := decode(body)
	args, _ := m.params.Get("arguments")
	return bad == nil, string(m.id), m.method, string(args)
}

// HasForm reports whether the error table has a row for a code, and how a call that ended so is answered.
func HasForm(c fault.Code) (call string, ok bool) {
	f, ok := formOf(c)
	return string(f.call), ok
}
