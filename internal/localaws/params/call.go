package params

import (
	"github.com/go-json-experiment/json"

	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// Call describes a request for the rules of package chaos: its names, or its path, are keys
// under "Name".
func Call(operation string, body []byte) chaos.Call {
	var in struct {
		Name  string
		Path  string
		Names []string
	}
	// What cannot be read is refused by Do.
	_ = json.Unmarshal(body, &in)
	call := chaos.Call{Operation: operation}
	for _, name := range append(in.Names, in.Name, in.Path) {
		if name != "" {
			call.Keys = append(call.Keys, map[string]string{"Name": name})
		}
	}
	return call
}
