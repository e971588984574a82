package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/conn"
)

const (
	maxName  = 64  // what clients accept
	longName = 46  // some clients put a prefix of their own in front
	maxOwn   = 128 // of a server's own name for a tool (specification 2026-07-28, "Tool Names")
)

// leaveOut is the cure that always works.
const leaveOut = "leave it out by listing the other tools under tools:"

// names gives the tools of one connection the names they are served by (K3).
type names struct {
	c       conn.Connection
	renamed map[string]string // by the server's name
	taken   map[string]string // the server's name, by the served one
	cures   map[string]string // what rename: could say, by the server's name
}

func newNames(c conn.Connection) *names {
	return &names{c: c, renamed: c.Rename, taken: map[string]string{}, cures: map[string]string{}}
}

// nameError is a name that a tool cannot be served by. Its cure is written when all names of the connection are known.
type nameError struct{ reason string }

func (e *nameError) Error() string { return e.reason }

// plain is a server's name in characters that clients accept: every other one becomes an underscore.
func plain(upstream string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, upstream)
}

// serve returns the name under which a tool is served: the connection's name, two underscores, and what rename: says, or else the
// server's name in plain characters. A name depends on nothing but these. place is the tool's place in the list, for a proposal.
func (n *names) serve(upstream string, place int) (string, error) {
	if len(upstream) > maxOwn {
		return "", fmt.Errorf("its name has %d characters, and the protocol allows %d; mend it at the server, or %s", text.Characters(upstream), maxOwn, leaveOut)
	}
	own, given := n.renamed[upstream]
	if !given {
		own = plain(upstream)
	}
	bad := func(reason string, a ...any) (string, error) {
		n.propose(upstream, place)
		return "", &nameError{reason: fmt.Sprintf(reason, a...)}
	}
	if strings.Trim(own, "_-") == "" {
		return bad("no letter or digit of its name is one that clients accept (a-z, A-Z, 0-9)")
	}
	if own != plain(own) {
		return bad("rename: gives it the name %q, and clients accept only a-z, A-Z, 0-9, _ and -", text.Short(own))
	}
	served := prefix(n.c) + own
	if len(served) > maxName {
		return bad("it would be served as %s, which has %d characters, and clients accept at most %d", served, len(served), maxName)
	}
	if reserved(served) {
		return bad("it would be served as %s, the name of one of the gateway's own tools", served)
	}
	if other, twice := n.taken[served]; twice {
		return bad("it and the tool %q would both be served as %s", text.Short(other), served)
	}
	n.taken[served] = upstream
	return served, nil
}

// servedAs is the name that serve gives to a tool, or would if it could be served.
func servedAs(c conn.Connection, upstream string) string {
	if own, given := c.Rename[upstream]; given {
		return prefix(c) + own
	}
	return prefix(c) + plain(upstream)
}

func prefix(c conn.Connection) string { return c.Name + "__" }

// propose finds a name that nothing else has: as many whole words of the server's name as fit.
func (n *names) propose(upstream string, place int) {
	if strings.ContainsAny(upstream, " *?[]") {
		return // no connection file can name such a tool
	}
	room := maxName - len(n.c.Name) - len("__")
	base := strings.Trim(plain(upstream), "_-")
	if base == "" {
		base = fmt.Sprintf("tool_%d", place)
	}
	if len(base) > room-3 { // leaves room for a number
		base = base[:room-3]
		if at := strings.LastIndexAny(base, "_-"); at > 0 {
			base = base[:at]
		}
		base = strings.Trim(base, "_-")
	}
	name := base
	for i := 2; n.used(name, upstream); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	n.cures[upstream] = name
}

func (n *names) used(own, upstream string) bool {
	_, taken := n.taken[n.c.Name+"__"+own]
	for other, cure := range n.cures {
		taken = taken || cure == own && other != upstream
	}
	return taken || reserved(n.c.Name+"__"+own)
}

// mostCures is how many entries one message proposes.
const mostCures = 8

// cure returns the line of the connection file that makes the tool's name fit. It names all the connection's tools that need one, so that
// the line cures them together, and what the file renames already.
func (n *names) cure(upstream string) string {
	if n.cures[upstream] == "" {
		return "mend it at the server, or " + leaveOut
	}
	entries := maps.Clone(n.renamed)
	if entries == nil {
		entries = map[string]string{}
	}
	if len(entries)+len(n.cures) > mostCures {
		return fmt.Sprintf("add to rename: %s, or %s", entry(upstream, n.cures[upstream]), leaveOut)
	}
	maps.Copy(entries, n.cures)
	all := make([]string, 0, len(entries))
	for _, from := range slices.Sorted(maps.Keys(entries)) {
		all = append(all, entry(from, entries[from]))
	}
	return fmt.Sprintf("write rename: {%s}, or %s", strings.Join(all, ", "), leaveOut)
}

var bare = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// entry writes one entry of rename: as YAML reads it.
func entry(from, to string) string {
	word := func(s string) string {
		switch strings.ToLower(s) {
		case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		default:
			if bare.MatchString(s) {
				return s
			}
		}
		quoted, err := json.Marshal(s) // a text of JSON is one of YAML
		if err != nil {
			return s
		}
		return string(quoted)
	}
	return word(from) + ": " + word(to)
}

// reserved reports whether a name belongs to the gateway's own tools.
func reserved(served string) bool {
	switch served {
	case "countersign_await_decision", "search_tools", "call_tool":
		return true
	}
	return strings.HasPrefix(served, "countersign_")
}
