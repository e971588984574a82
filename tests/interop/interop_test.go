package interop_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
)

// proof counts what held. Its checks run one after the other: the counts of the relay belong to one call at a time.
type proof struct {
	gateway *gateway
	server  *everything
	direct  map[string]answer // by question: what the server says without a gateway
	tools   []tool            // what the server lists without a gateway
	passed  atomic.Int64
}

func (p *proof) check(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	if t.Run(name, f) {
		p.passed.Add(1)
	}
}

// TestInterop drives the gateway with each client. tests/interop/run.sh installs what it needs.
func TestInterop(t *testing.T) {
	if os.Getenv("COUNTERSIGN_INTEROP") == "" {
		t.Skip("skip: needs Node and the pinned npm tools; make interop installs them and runs this test")
	}
	p := &proof{server: startEverything(t)}
	p.askDirectly(t)
	p.gateway = startGateway(t, p.server.relay.URL)

	for _, c := range []struct {
		name string
		open func(t *testing.T) client
	}{
		{"inspector legacy", p.inspector("legacy")},
		{"inspector modern", p.inspector("modern")},
		{"sdk 1.x", p.lineClient("sdk")},
		{"client 2.x legacy", p.lineClient("client-2", "legacy")},
		{"client 2.x modern", p.lineClient("client-2", "modern")},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := c.open(t)
			p.listing(t, client)
			p.ungated(t, client)
			p.refused(t, client)
			p.approved(t, client, c.open)
			p.declined(t, client)
		})
	}
	t.Run("stranger", p.stranger)
	t.Run("shapes", p.shapes)
	t.Run("output schema", p.outputSchema)

	if !t.Failed() {
		fmt.Printf("interop: %d checks passed\n", p.passed.Load())
	}
}

// askDirectly records what the server itself lists and answers, as the SDK sees it.
func (p *proof) askDirectly(t *testing.T) {
	t.Helper()
	c := startLineClient(t, p.server.URL, "", "sdk")
	p.tools = c.list(t)
	if len(p.tools) == 0 {
		t.Fatal("the server lists no tools")
	}
	p.direct = make(map[string]answer)
	for _, q := range questions {
		p.direct[q.name] = c.call(t, q.tool, q.arguments)
	}
}
