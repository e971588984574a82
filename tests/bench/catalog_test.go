package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// definitionOf is a tool of about the size that real ones have, 1 KB. Every third has an output schema that describes an object, every
// third one that does not.
func definitionOf(n int) json.RawMessage {
	output := []string{"", `,"outputSchema":{"type":"object","properties":{"id":{"type":"string"}}}`, `,"outputSchema":{"type":"array","items":{"type":"string"}}`}[n%3]
	return json.RawMessage(fmt.Sprintf(`{"name":"tool_%03d","title":"Tool %d","description":%q,"inputSchema":{"type":"object","properties":{"n":{"type":"integer"},`+
		`"query":{"type":"string","description":"what to look for, in a few words","maxLength":200},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20}}}%s,`+
		`"annotations":{"readOnlyHint":false,"openWorldHint":true}}`, n, n, strings.Repeat("It does what tools of this kind do. ", 18), output))
}

// fleet is many servers: each lists the same number of tools after its own time, or never.
type fleet struct {
	tools int
	takes map[string]time.Duration // by connection; below zero: it does not answer
	asked *atomic.Int64
}

func (f fleet) Discover(ctx context.Context, c conn.Connection, _ conn.Resolved) (catalog.Discovery, error) {
	if f.asked != nil {
		f.asked.Add(1)
	}
	d := catalog.Discovery{Server: catalog.Server{Era: catalog.Modern, ProtocolVersion: "2026-07-28"}}
	takes := f.takes[c.Name]
	if takes < 0 {
		<-ctx.Done()
		return d, ctx.Err()
	}
	if takes > 0 {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
	for n := range f.tools {
		d.Tools = append(d.Tools, definitionOf(n))
	}
	return d, nil
}

// many returns n connections, c00 and so on. None waits for a person.
func many(n int) []conn.Connection {
	all := make([]conn.Connection, n)
	for i := range all {
		name := fmt.Sprintf("c%02d", i)
		all[i] = conn.Connection{Name: name, URL: "https://" + name + ".example.test/mcp", Approval: conn.Never, Effect: conn.AtMostOnce,
			Timeout: 30 * time.Second, ApprovalTTL: time.Hour, File: name + ".yml"}
	}
	return all
}

// TestABuildWaitsForItsSlowestServerOnly builds 50 connections of 100 tools on a clock of its own: what is measured is waiting, and it
// is exact on any machine.
func TestABuildWaitsForItsSlowestServerOnly(t *testing.T) {
	const deadline = 60 * time.Second
	slow := map[string]time.Duration{}
	var together time.Duration
	for i := range 20 { // 2 s, 4 s, ... 40 s
		slow[fmt.Sprintf("c%02d", 2*i)] = time.Duration(2*(i+1)) * time.Second
		together += slow[fmt.Sprintf("c%02d", 2*i)]
	}
	hanging := map[string]time.Duration{"c49": -1}
	for name, takes := range slow {
		hanging[name] = takes
	}
	for _, c := range []struct {
		name     string
		takes    map[string]time.Duration
		each     int // tools of a server
		optional bool
		waits    time.Duration
		tools    int // 0: the build fails
	}{
		{"20 of 50 answer after 2 s to 40 s", slow, 100, false, 40 * time.Second, 5000},
		{"one more hangs, and is optional", hanging, 100, true, deadline, 4900},
		{"one more hangs, and is not optional", hanging, 1, false, deadline, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conns := many(50)
				conns[49].Optional = c.optional
				servers := fleet{c.each, c.takes, new(atomic.Int64)}
				began, computed := time.Now(), processorTime()
				built, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: servers, Secrets: noSecrets{}, Deadline: deadline})
				waited := time.Since(began)
				t.Logf("measure: a build of 50 connections with %d tools each, %s: waits %v (one after the other: %v), and computes about %v",
					c.each, c.name, waited, one(c.takes, together, deadline), processorTime()-computed)
				if waited != c.waits {
					t.Errorf("it waits %v, want %v, which is its slowest server", waited, c.waits)
				}
				if servers.asked.Load() != 50 {
					t.Errorf("%d servers were asked, want each of 50 once", servers.asked.Load())
				}
				var failed *catalog.BuildError
				switch {
				case c.tools == 0:
					if !errors.As(err, &failed) || len(failed.Problems) != 1 || failed.Problems[0].Connection != "c49" || !strings.Contains(err.Error(), "no complete answer within 1m0s") {
						t.Errorf("error %v, want one problem that names c49 and its deadline", err)
					}
				case err != nil:
					t.Error(err)
				default:
					if len(built.Tools) != c.tools {
						t.Errorf("%d tools, want %d", len(built.Tools), c.tools)
					}
					if reason := built.LeftOut["c49"]; c.optional != strings.Contains(reason, "no complete answer within 1m0s") {
						t.Errorf("c49 is left out because of %q", reason)
					}
				}
			})
		})
	}
}

// one is how long the build would wait if servers were asked one after the other.
func one(takes map[string]time.Duration, together, deadline time.Duration) time.Duration {
	if takes["c49"] < 0 {
		return together + deadline
	}
	return together
}
