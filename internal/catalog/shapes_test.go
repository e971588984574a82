package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/catalog/lock"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// shape is a list of tools as a kind of server has it, rebuilt from what is known of real ones.
type shape struct {
	ID     string
	Expand struct{ To int }
	Pages  []struct {
		Connection string
		Tools      []json.RawMessage
		ExpandTo   int `json:"expand_to"`
	} `json:"tools_list_pages"`
}

// shapes returns every shape as servers, each tool cloned until there are as many as the real server had.
func shapes(tb testing.TB) servers {
	tb.Helper()
	files, err := filepath.Glob("testdata/shapes/*.json")
	if err != nil || len(files) < 12 {
		tb.Fatalf("found %d shapes, error %v", len(files), err)
	}
	all := servers{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var s shape
		if err := json.Unmarshal(text, &s); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		name, _, _ := strings.Cut(strings.ToLower(s.ID), "-")
		for _, p := range s.Pages {
			at := name
			if p.Connection != "" {
				at = p.Connection
			}
			one := all[at]
			one.tools = append(one.tools, clones(tb, p.Tools, max(p.ExpandTo, s.Expand.To))...)
			all[at] = one
		}
	}
	return all
}

// clones returns tools and copies of them under other names, n together.
func clones(tb testing.TB, tools []json.RawMessage, n int) []json.RawMessage {
	tb.Helper()
	all := slices.Clone(tools)
	for i := len(all); i < n; i++ {
		var named struct{ Name string }
		if err := json.Unmarshal(tools[i%len(tools)], &named); err != nil {
			tb.Fatal(err)
		}
		all = append(all, json.RawMessage(strings.Replace(string(tools[i%len(tools)]), `"`+named.Name+`"`, fmt.Sprintf(`"%s_%03d"`, named.Name, i), 1)))
	}
	return all
}

// shuffled answers in another order at each build: who is asked last may answer first.
type shuffled struct {
	servers
	order []string // by connection: who answers first
	next  map[string]chan struct{}
}

func newShuffled(s servers, order []string) *shuffled {
	h := &shuffled{servers: s, order: order, next: map[string]chan struct{}{}}
	for _, name := range order {
		h.next[name] = make(chan struct{})
	}
	close(h.next[order[0]])
	return h
}

func (h *shuffled) Discover(ctx context.Context, c conn.Connection, r conn.Resolved) (catalog.Discovery, error) {
	select {
	case <-h.next[c.Name]:
	case <-ctx.Done():
		return catalog.Discovery{}, ctx.Err()
	}
	if i := slices.Index(h.order, c.Name); i+1 < len(h.order) {
		defer close(h.next[h.order[i+1]])
	}
	return h.servers.Discover(ctx, c, r)
}

// K6: the bytes of a catalog, and of its lock, do not depend on the order of the files or on who answers first.
func TestRebuildingGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	var names []string
	var conns []conn.Connection
	for name := range all {
		names = append(names, name)
		conns = append(conns, connection(name))
	}
	slices.Sort(names)
	random := rand.New(rand.NewPCG(1, 2))
	var first, pinned []byte
	for round := range 4 {
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		random.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
		cat, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: newShuffled(all, slices.Clone(names)), Secrets: noSecrets{}, Deadline: hanging})
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := cat.Encode()
		if err != nil {
			t.Fatal(err)
		}
		locked, err := lock.Of(cat, nil).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			first, pinned = encoded, locked
			t.Logf("%d connections, %d tools, %d bytes, lock %d bytes, %d warnings", len(conns), len(cat.Tools), len(encoded), len(locked), len(cat.Warnings))
		}
		if !bytes.Equal(encoded, first) || !bytes.Equal(locked, pinned) {
			t.Fatalf("round %d: the bytes differ", round)
		}
	}
}

// K4, for every shape: a definition is the server's but for its name, and every argument schema can be used.
func TestEveryShapeIsServedAsItIs(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	var conns []conn.Connection
	for name := range all {
		conns = append(conns, connection(name))
	}
	cat := mustBuild(t, all, conns...)
	for _, tl := range cat.Tools {
		checkServed(t, listCase{}, tl)
	}
	for name, s := range all {
		if n := slices.IndexFunc(cat.Tools, func(tl *catalog.Tool) bool { return tl.Connection == name }); n < 0 {
			t.Errorf("nothing of %s is served, of %d tools", name, len(s.tools))
		}
	}
}

// A build of 5,000 tools: what it costs, and how large it is.
func BenchmarkBuild5000(b *testing.B) {
	s := servers{}
	var conns []conn.Connection
	definitions := shapes(b)["s01"].tools
	for i := range 50 {
		name := fmt.Sprintf("c%02d", i)
		s[name] = server{tools: clones(b, definitions[:min(len(definitions), 100)], 100)}
		conns = append(conns, connection(name))
	}
	b.ReportAllocs()
	for b.Loop() {
		cat, err := catalog.Build(context.Background(), conns, catalog.Options{Discover: s, Secrets: noSecrets{}})
		if err != nil {
			b.Fatal(err)
		}
		encoded, err := cat.Encode()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(encoded)), "bytes")
		b.ReportMetric(float64(len(cat.Tools)), "tools")
	}
}

func BenchmarkDecode5000(b *testing.B) {
	s := servers{}
	var conns []conn.Connection
	for i := range 50 {
		name := fmt.Sprintf("c%02d", i)
		s[name] = server{tools: clones(b, shapes(b)["s01"].tools[:5], 100)}
		conns = append(conns, connection(name))
	}
	encoded, err := mustBuild(b, s, conns...).Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := catalog.Decode(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
