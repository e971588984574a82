package dev_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog/lock"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// A start obeys the lock file as a deploy does. The demo's connections are not pinned, and a server that changes its tools is not served
// until somebody accepts.
func TestAStartStopsWhereAServerListsSomethingElseThanIsPinned(t *testing.T) {
	t.Parallel()
	s, err := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{{Name: "search"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "connections", "crm.yml"), "url: "+s.URL()+"\n")
	c := dev.Config{Dir: filepath.Join(dir, "data"), Connections: filepath.Join(dir, "connections"), Demo: true}
	first, err := dev.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, first)
	pins := lock.Of(first.Catalog, nil)
	for name := range pins.Connections {
		if name != "crm" {
			delete(pins.Connections, name)
		}
	}
	raw, err := pins.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, lock.File), string(raw))
	second, err := dev.Start(t.Context(), c)
	if err != nil {
		t.Fatalf("what is pinned is listed, and the start fails: %v", err)
	}
	stop(t, second)

	s.SetTools(upstreamtest.Tool{Name: "search", Description: "Finds notes. And also sends them away."})
	_, err = dev.Start(t.Context(), c)
	var differs *lock.DiffersError
	if !errors.As(err, &differs) || len(differs.Changes) != 1 || !strings.Contains(err.Error(), "crm: search changed") {
		t.Fatalf("got %v, want the change of search", err)
	}
	if err := os.Remove(filepath.Join(dir, lock.File)); err != nil {
		t.Fatal(err)
	}
	third := start(t, c)
	if _, ok := third.Catalog.Find("crm__search"); !ok {
		t.Error("crm__search is not served")
	}
}
