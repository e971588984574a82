package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// meeting answers no connection before all of them have asked.
type meeting struct {
	servers
	mu      sync.Mutex
	missing int
	all     chan struct{}
}

func (m *meeting) Discover(ctx context.Context, c conn.Connection, r conn.Resolved) (catalog.Discovery, error) {
	m.mu.Lock()
	if m.missing--; m.missing == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return m.servers.Discover(ctx, c, r)
	case <-ctx.Done():
		return catalog.Discovery{}, ctx.Err()
	}
}

// K2: all servers are asked side by side, so a build takes as long as the slowest, and never the sum.
func TestAllServersAreAskedSideBySide(t *testing.T) {
	t.Parallel()
	const n = 60
	m := &meeting{servers: servers{}, missing: n, all: make(chan struct{})}
	var conns []conn.Connection
	for i := range n {
		name := fmt.Sprintf("c%d", i)
		m.servers[name] = raw(tool("t"))
		conns = append(conns, connection(name))
	}
	cat, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: m, Secrets: noSecrets{}, Deadline: hanging})
	if err != nil {
		t.Fatal(err)
	}
	if len(cat.Tools) != n {
		t.Errorf("%d tools are served", len(cat.Tools))
	}
}

// K2: servers that say nothing cost one deadline together, and each is named with it.
func TestSilentServersCostOneDeadlineTogether(t *testing.T) {
	t.Parallel()
	const n, deadline = 60, 300 * time.Millisecond
	s := servers{"good": raw(tool("t"))}
	conns := []conn.Connection{connection("good")}
	for i := range n {
		c := connection(fmt.Sprintf("c%d", i))
		c.Optional = true
		s[c.Name] = server{hang: true}
		conns = append(conns, c)
	}
	start := time.Now()
	cat, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: s, Secrets: noSecrets{}, Deadline: deadline})
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	for name, reason := range cat.LeftOut {
		if !strings.Contains(reason, "no complete answer within 300ms") {
			t.Errorf("%s: %s", name, reason)
		}
	}
	t.Logf("%d silent servers, deadline %v: %v", n, deadline, took.Round(time.Millisecond))
	if len(cat.LeftOut) != n || took > n*deadline/2 {
		t.Errorf("%d are left out, in %v", len(cat.LeftOut), took)
	}
}

// A listing says why it failed, and never looks like an empty one.
func TestAListingThatFailedSaysWhy(t *testing.T) {
	t.Parallel()
	locked := connection("locked")
	locked.Auth = &conn.Auth{Type: "bearer", Credential: "locked.token"}
	conns := []conn.Connection{connection("good"), locked, connection("down"), connection("empty")}
	all := catalog.List(t.Context(), conns, catalog.Options{Secrets: noSecrets{}, Deadline: hanging, Discover: servers{
		"good": raw(tool("t")), "locked": raw(tool("t")), "down": {err: errors.New("down: nothing listens there")}, "empty": {},
	}})
	var setup *catalog.SetupError
	switch {
	case len(all) != 4 || all[0].Connection != "good" || all[0].Err != nil || len(all[0].Tools) != 1:
		t.Errorf("listed %+v", all)
	case !errors.As(all[1].Err, &setup) || len(all[1].Tools) > 0:
		t.Errorf("without its credential: %+v", all[1])
	case all[2].Err == nil || all[2].Err.Error() != "nothing listens there" || errors.As(all[2].Err, &setup):
		t.Errorf("down: %v", all[2].Err)
	case all[3].Err == nil || !strings.Contains(all[3].Err.Error(), "lists no tools"):
		t.Errorf("empty: %v", all[3].Err)
	}
}
