package lock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/catalog/diff"
	"github.com/countersign-mcp/countersign/internal/catalog/lock"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// servers answers Discover from memory, by connection; one without tools is down.
type servers map[string][]string

func (s servers) Discover(_ context.Context, c conn.Connection, _ conn.Resolved) (catalog.Discovery, error) {
	if len(s[c.Name]) == 0 {
		return catalog.Discovery{}, errors.New("nothing listens there")
	}
	d := catalog.Discovery{Server: catalog.Server{Era: catalog.Modern}}
	for _, t := range s[c.Name] {
		name, description, _ := strings.Cut(t, ":")
		d.Tools = append(d.Tools, json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","maximum":9007199254740993}}`, name, description)))
	}
	return d, nil
}

type noSecrets struct{}

func (noSecrets) Secret(context.Context, string) (secret.Value, error) {
	return secret.Value{}, secret.ErrNotFound
}

func build(tb testing.TB, s servers, conns []conn.Connection) *catalog.Catalog {
	tb.Helper()
	cat, err := catalog.Build(context.Background(), conns, catalog.Options{Discover: s, Secrets: noSecrets{}})
	if err != nil {
		tb.Fatal(err)
	}
	return cat
}

func connections(names ...string) []conn.Connection {
	var all []conn.Connection
	for _, n := range names {
		all = append(all, conn.Connection{Name: strings.TrimSuffix(n, "?"), Optional: strings.HasSuffix(n, "?"), URL: "https://x.example.test/mcp",
			Approval: conn.Never, Effect: conn.AtMostOnce, Timeout: time.Minute})
	}
	return all
}

// reread writes a lock and reads it again, as the next deploy does.
func reread(tb testing.TB, l *lock.Lock) *lock.Lock {
	tb.Helper()
	raw, err := l.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	again, err := lock.Read(fstest.MapFS{lock.File: {Data: raw}})
	if err != nil {
		tb.Fatal(err)
	}
	twice, err := again.Encode()
	if err != nil || string(twice) != string(raw) {
		tb.Errorf("read and written again, it has other bytes (%v)", err)
	}
	return again
}

// P1, P2: what was pinned against what the servers list now.
func TestCheckFindsWhatIsNotPinned(t *testing.T) {
	t.Parallel()
	first := servers{"crm": {"a:one", "b:two"}, "docs": {"search:finds"}}
	for name, c := range map[string]struct {
		now   servers
		conns []conn.Connection
		want  []string // connection, tool, change
	}{
		"the same":                      {first, connections("crm", "docs"), nil},
		"the same in another order":     {servers{"crm": {"b:two", "a:one"}, "docs": first["docs"]}, connections("docs", "crm"), nil},
		"a description":                 {servers{"crm": {"a:one and more", "b:two"}, "docs": first["docs"]}, connections("crm", "docs"), []string{"crm a changed"}},
		"a tool more, and one less":     {servers{"crm": {"a:one", "c:three"}, "docs": first["docs"]}, connections("crm", "docs"), []string{"crm b removed", "crm c added"}},
		"a new connection":              {servers{"crm": first["crm"], "docs": first["docs"], "x": {"y:z"}}, connections("crm", "docs", "x"), []string{"x y added"}},
		"a connection that is gone":     {first, connections("crm"), []string{"docs search removed"}},
		"an optional one that is down":  {servers{"crm": first["crm"]}, connections("crm", "docs?"), nil},
		"a connection that is nobody's": {servers{"crm": first["crm"], "docs": first["docs"], "demo": {"y:z"}}, connections("crm", "docs", "demo"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pinned := reread(t, lock.Of(build(t, first, connections("crm", "docs")), nil))
			cat := build(t, c.now, c.conns)
			ours := c.conns
			if name == "a connection that is nobody's" { // such as those of a demonstration
				ours = c.conns[:2]
			}
			err := pinned.Check(cat, ours)
			var differs *lock.DiffersError
			if (err != nil) != (len(c.want) > 0) || err != nil && !errors.As(err, &differs) {
				t.Fatalf("Check: %v", err)
			}
			var got []string
			if differs != nil {
				for _, change := range differs.Changes {
					got = append(got, change.Connection+" "+change.Tool+" "+string(change.Kind))
				}
				if !strings.Contains(err.Error(), "countersign catalog accept") || !strings.Contains(err.Error(), lock.File) {
					t.Errorf("%q does not say how to go on", err)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if left := reread(t, lock.Of(cat, pinned)).Compare(cat, c.conns); len(left) > 0 {
				t.Errorf("accepted, it still differs: %v", left)
			}
		})
	}
}

// P2: accepting while a server is down does not unpin its tools.
func TestAcceptingKeepsWhatIsPinnedOfAServerThatIsDown(t *testing.T) {
	t.Parallel()
	up := servers{"crm": {"a:one"}, "docs": {"search:finds"}}
	pinned := lock.Of(build(t, up, connections("crm", "docs?")), nil)
	down := build(t, servers{"crm": {"a:one"}}, connections("crm", "docs?"))
	pinned = reread(t, lock.Of(down, pinned))
	changed := build(t, servers{"crm": {"a:one"}, "docs": {"search:finds and deletes"}}, connections("crm", "docs?"))
	if changes := pinned.Compare(changed, connections("crm", "docs?")); len(changes) != 1 || changes[0].Kind != diff.Changed {
		t.Errorf("got %v, want the change of search", changes)
	}
}

// P4
func TestALockThatWasEditedPinsNothing(t *testing.T) {
	t.Parallel()
	raw, err := lock.Of(build(t, servers{"crm": {"a:one"}}, connections("crm")), nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, c := range map[string]struct{ file, want string }{
		"another description": {strings.Replace(text, `"one"`, `"two"`, 1), `the definition of crm "a" does not have its digest`},
		"another number":      {strings.Replace(text, `9007199254740993`, `9007199254740992`, 1), "does not have its digest"},
		"no digest":           {strings.Replace(text, `"digest"`, `"digset"`, 1), "does not have its digest"},
		"no served name":      {strings.Replace(text, `"served": "crm__a"`, `"served": ""`, 1), `crm "a" has no served name`},
		"another case":        {strings.Replace(text, `"served": "crm__a"`, `"Served": "crm__a"`, 1), `crm "a" has no served name`},
		"a conflict":          {"<<<<<<< HEAD\n" + text, "not a lock file"},
		"a member twice":      {strings.Replace(text, `"version": 1,`, `"version": 1, "version": 1,`, 1), "duplicate member"},
		"a later form":        {strings.Replace(text, `"version": 1`, `"version": 2`, 1), "version 2, and this program knows 1"},
		"another file":        {`{"tools":[]}`, "not a lock file"},
		"nothing":             {"", "not a lock file"},
	} {
		if c.file == text {
			t.Fatalf("%s: the file is what it was", name)
		}
		_, err := lock.Read(fstest.MapFS{lock.File: {Data: []byte(c.file)}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), lock.File+": ") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if l, err := lock.Read(fstest.MapFS{}); l != nil || err != nil {
		t.Errorf("without a file: %v, %v", l, err)
	}
	if err := (*lock.Lock)(nil).Check(build(t, servers{"crm": {"a:one"}}, connections("crm")), connections("crm")); err != nil {
		t.Errorf("nothing is pinned, and Check says %v", err)
	}
}

// P3: a review of the file shows what changed, and nothing else.
func TestTheFileHasOneMemberALine(t *testing.T) {
	t.Parallel()
	lines := func(description string) []string {
		raw, err := lock.Of(build(t, servers{"crm": {"a:" + description, "b:<b> & c"}}, connections("crm")), nil).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(raw), "\n")
	}
	was, is := lines("one"), lines("two")
	different := 0
	for i := range was {
		if was[i] != is[i] {
			different++
		}
	}
	if len(was) != len(is) || different != 2 { // the description and the digest
		t.Errorf("%d of %d lines differ", different, len(was))
	}
	if !strings.Contains(strings.Join(was, ""), `"<b> & c"`) {
		t.Errorf("the text of a definition is rewritten: %s", was)
	}
}
