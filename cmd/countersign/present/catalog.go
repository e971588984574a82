package present

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// Tool is one tool as it is shown, also as JSON.
type Tool struct {
	Name       string          `json:"name"`
	Connection string          `json:"connection"`
	Upstream   string          `json:"upstream"`
	Gate       string          `json:"gate"` // when a call of it waits, in words
	Effect     string          `json:"effect"`
	Digest     string          `json:"digest"`
	Served     json.RawMessage `json:"served"`
}

// Of returns a catalog's tools.
func Of(cat *catalog.Catalog, conns []conn.Connection) []Tool {
	byName := map[string]conn.Connection{}
	for _, c := range conns {
		byName[c.Name] = c
	}
	all := []Tool{}
	for _, t := range cat.Tools {
		c := byName[t.Connection]
		all = append(all, Tool{t.Name, t.Connection, t.Upstream, gate(c, t.Upstream), string(c.Effect), t.Digest, t.Served})
	}
	return all
}

func gate(c conn.Connection, upstream string) string {
	switch {
	case !c.MayWait(upstream) && c.ReadsOnly(upstream):
		return "reads"
	case !c.MayWait(upstream):
		return "runs at once"
	}
	for _, r := range c.Rules {
		switch {
		case r.Tool != "" && !conn.MatchTool(r.Tool, upstream):
		case r.When != nil:
			return "may wait (rules)"
		case r.Approvals > 1:
			return fmt.Sprintf("waits (%s, %d approvals)", r.Require, r.Approvals)
		default:
			return "waits (" + string(r.Require) + ")"
		}
	}
	return "waits (" + string(c.Approval) + ")"
}

// Tools writes one line a tool.
func Tools(w io.Writer, tools []Tool) error {
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{t.Name, t.Gate, brief(t.Served)})
	}
	return Table(w, rows)
}

// brief is the beginning of a description, for one column.
func brief(definition json.RawMessage) string {
	const most = 72
	var d struct {
		Description string `json:"description"`
	}
	if json.Unmarshal(definition, &d) != nil { // it was checked when the catalog was built
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(d.Description), "\n")
	if r := []rune(first); len(r) > most {
		return strings.TrimSpace(string(r[:most])) + "..."
	}
	return first
}

// Whole writes one tool with its definition.
func Whole(w io.Writer, t Tool) error {
	v := jsontext.Value(slices.Clone(t.Served))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return err
	}
	rows := [][]string{{"served as", t.Name}, {"connection", t.Connection}, {"at the server", t.Upstream}, {"gate", t.Gate}, {"effect", t.Effect}, {"digest", t.Digest}}
	if err := Table(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", Lines(string(v)))
	return err
}

// Built is what a build made, also as JSON.
type Built struct {
	Tools    map[string]int    `json:"tools"` // by connection
	Bytes    int               `json:"bytes"`
	SHA256   string            `json:"sha256"`
	Pinned   bool              `json:"pinned"`
	LeftOut  map[string]string `json:"left_out"`
	Warnings []string          `json:"warnings"`
	servers  map[string]catalog.Server
}

// NewBuilt describes a catalog and its file.
func NewBuilt(cat *catalog.Catalog, file []byte, pinned bool) Built {
	sum := sha256.Sum256(file)
	b := Built{Tools: map[string]int{}, Bytes: len(file), SHA256: hex.EncodeToString(sum[:]), Pinned: pinned,
		LeftOut: map[string]string{}, Warnings: append([]string{}, cat.Warnings...), servers: cat.Servers}
	maps.Copy(b.LeftOut, cat.LeftOut)
	for _, t := range cat.Tools {
		b.Tools[t.Connection]++
	}
	return b
}

// Write writes one line a connection, and one for the whole.
func (b Built) Write(w io.Writer) error {
	var rows [][]string
	n := 0
	for _, name := range slices.Sorted(maps.Keys(b.servers)) {
		s := b.servers[name]
		n += b.Tools[name]
		rows = append(rows, []string{name, Count(b.Tools[name], "tool"), string(s.Era), s.ProtocolVersion})
	}
	if err := Table(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s of %s, %s, sha256 %s\n", Count(n, "tool"), Count(len(b.servers), "connection"), Count(b.Bytes, "byte"), b.SHA256)
	return err
}
