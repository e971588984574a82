package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	strictjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/catalog/diff"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// File is where the lock file lies below the folder that is deployed.
const File = "connections/catalog.lock.json"

// version is of the file's form.
const version = 1

// Lock is what is pinned. A nil *Lock pins nothing.
type Lock struct {
	Version     int                       `json:"version"`
	Connections map[string]map[string]Pin `json:"connections"` // by connection, by the server's name of the tool
}

// Pin is one tool that was reviewed.
type Pin struct {
	Served     string          `json:"served"`
	Digest     string          `json:"digest"`     // catalog.Tool.Digest
	Definition json.RawMessage `json:"definition"` // as the server sent it
}

// DiffersError is a catalog that is not what is pinned.
type DiffersError struct{ Changes []diff.Change }

// Error says what changed, tool by tool, and how to go on.
func (e *DiffersError) Error() string {
	lines := []string{Summary(e.Changes) + " against " + File + ":"}
	for _, c := range e.Changes {
		lines = append(lines, c.String())
	}
	return strings.Join(append(lines, "read it, and run countersign catalog accept if it may be served"), "\n")
}

// Summary counts changes in words.
func Summary(changes []diff.Change) string {
	n := diff.Count(changes)
	var said []string
	for _, k := range []diff.Kind{diff.Added, diff.Removed, diff.Changed} {
		if n[k] > 0 {
			said = append(said, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	if len(said) == 0 {
		return "no tool differs"
	}
	noun := "tools"
	if len(changes) == 1 {
		noun = "tool"
	}
	return noun + ": " + strings.Join(said, ", ")
}

// Of pins the tools of a catalog. What pinned has of connections that the catalog left out stays (P2).
func Of(cat *catalog.Catalog, pinned *Lock) *Lock {
	l := &Lock{Version: version, Connections: map[string]map[string]Pin{}}
	for _, t := range cat.Tools {
		if l.Connections[t.Connection] == nil {
			l.Connections[t.Connection] = map[string]Pin{}
		}
		l.Connections[t.Connection][t.Upstream] = Pin{Served: t.Name, Digest: t.Digest, Definition: t.Raw}
	}
	if pinned != nil {
		for name := range cat.LeftOut {
			if tools, ok := pinned.Connections[name]; ok {
				l.Connections[name] = maps.Clone(tools)
			}
		}
	}
	return l
}

// Check compares a catalog's tools of these connections with what is pinned. Its error is a *DiffersError.
func (l *Lock) Check(cat *catalog.Catalog, conns []conn.Connection) error {
	if changes := l.Compare(cat, conns); len(changes) > 0 {
		return &DiffersError{Changes: changes}
	}
	return nil
}

// Compare returns how a catalog's tools of these connections differ from what is pinned (P1). Tools pinned for a connection that is no
// more are removed ones; those of a connection that was left out are nothing (P2).
func (l *Lock) Compare(cat *catalog.Catalog, conns []conn.Connection) []diff.Change {
	if l == nil {
		return nil
	}
	ours := map[string]bool{}
	for _, c := range conns {
		ours[c.Name] = true
	}
	var was []diff.Tool
	for name, tools := range l.Connections {
		if _, out := cat.LeftOut[name]; out {
			continue
		}
		for upstream, p := range tools {
			was = append(was, diff.Tool{Connection: name, Name: upstream, Served: p.Served, Definition: p.Definition})
		}
	}
	var is []diff.Tool
	for _, t := range cat.Tools {
		if ours[t.Connection] {
			is = append(is, diff.Tool{Connection: t.Connection, Name: t.Upstream, Served: t.Name, Definition: t.Raw})
		}
	}
	return diff.Tools(was, is)
}

// Catalog returns the pinned tools as a catalog to compare listings with.
func (l *Lock) Catalog() *catalog.Catalog {
	var cat catalog.Catalog
	if l == nil {
		return &cat
	}
	for name, tools := range l.Connections {
		for upstream, p := range tools {
			cat.Tools = append(cat.Tools, &catalog.Tool{Name: p.Served, Connection: name, Upstream: upstream, Raw: p.Definition, Digest: p.Digest})
		}
	}
	return &cat
}

// Encode returns the lock as a file (P3).
func (l *Lock) Encode() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // it would rewrite "<" inside the definitions
	if err := e.Encode(l); err != nil {
		return nil, fmt.Errorf("encoding the lock: %w", err)
	}
	v := jsontext.Value(out.Bytes())
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, fmt.Errorf("encoding the lock: %w", err)
	}
	return append(bytes.TrimRight(v, "\n"), '\n'), nil
}

// Read returns the lock of a folder, or nil where it has none.
func Read(root fs.FS) (*Lock, error) {
	raw, err := fs.ReadFile(root, File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", File, err)
	}
	l, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	return l, nil
}

const again = "restore it from version control, or delete it and run countersign catalog accept"

// Decode reads a file that Encode wrote (P4).
func Decode(raw []byte) (*Lock, error) {
	var l Lock
	if err := jsonx.Check(raw, jsonx.Limits{Bytes: -1, Depth: -1, Tokens: -1, NumberLen: -1}); err != nil {
		return nil, fmt.Errorf("it is not a lock file: %w; %s", err, again)
	}
	// Names in another case are other members: the digest of a "Definition" would be looked at, and its neighbour would not be.
	if err := strictjson.Unmarshal(raw, &l); err != nil || l.Version == 0 {
		return nil, fmt.Errorf("it is not a lock file; %s", again)
	}
	if l.Version != version {
		return nil, fmt.Errorf("it has the form of version %d, and this program knows %d", l.Version, version)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Connections)) {
		for _, tool := range slices.Sorted(maps.Keys(l.Connections[name])) {
			p := l.Connections[name][tool]
			if p.Served == "" {
				return nil, fmt.Errorf("%s %q has no served name: it was edited, or merged by half; %s", name, tool, again)
			}
			canonical, err := jsonx.Canonical(p.Definition)
			if err != nil || jsonx.Digest(canonical) != p.Digest {
				return nil, fmt.Errorf("the definition of %s %q does not have its digest: it was edited, or merged by half; %s", name, tool, again)
			}
		}
	}
	return &l, nil
}
