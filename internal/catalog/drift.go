package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-mcp/countersign/internal/catalog/diff"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// Drift returns how what the servers list now differs from what the catalog serves, by definitions and served names, whether or not the new
// ones could be served. A listing that failed says nothing, and neither does one of a connection that the catalog left out; the tools of a
// connection that is no more are removed ones. compared is how many tools of the catalog were looked at.
func (c *Catalog) Drift(conns []conn.Connection, listings []Listing) (changes []diff.Change, compared int) {
	byName := map[string]conn.Connection{}
	for _, cn := range conns {
		byName[cn.Name] = cn
	}
	var was, is []diff.Tool
	for _, t := range c.Tools {
		if _, known := byName[t.Connection]; !known {
			was = append(was, pinned(t))
		}
	}
	for _, l := range listings {
		cn, known := byName[l.Connection]
		if _, out := c.LeftOut[l.Connection]; l.Err != nil || out || !known {
			continue
		}
		for _, t := range c.Tools {
			if t.Connection == l.Connection {
				was = append(was, pinned(t))
			}
		}
		is = append(is, eligible(cn, l.Tools)...)
	}
	return diff.Tools(was, is), len(was)
}

func pinned(t *Tool) diff.Tool {
	return diff.Tool{Connection: t.Connection, Name: t.Upstream, Served: t.Name, Definition: t.Raw}
}

// eligible returns the listed tools that a build would serve or complain of: not those that the file or the protocol leaves out.
func eligible(c conn.Connection, tools []json.RawMessage) []diff.Tool {
	var all []diff.Tool
	for i, raw := range tools {
		name, _, err := read(c, raw)
		if name == "" {
			name = fmt.Sprintf("number %d", i+1)
		}
		var broken *annotationError
		if c.AllowsTool(name) && (slices.Contains(c.Tools, name) || !errors.As(err, &broken)) {
			all = append(all, diff.Tool{Connection: c.Name, Name: name, Served: servedAs(c, name), Definition: raw})
		}
	}
	return all
}
