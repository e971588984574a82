package gateway

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/expr"
	"github.com/countersign-mcp/countersign/internal/gateway/listing"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Config is what a Gateway works with. Ledger, Now and Log are always required; the rest as the functions that are used say.
type Config struct {
	Ledger *ledger.Ledger
	Now    func() time.Time
	Log    *slog.Logger

	// Call, List, Await and Execute.
	Keyer       ledger.Keyer
	Catalog     *catalog.Catalog
	Connections []conn.Connection
	Upstream    func(conn.Connection) Upstream // one per connection; asked once for each
	Secrets     secret.Source
	Principals  Principals
	ListLimits  listing.Limits                                   // of one page of tools/list
	Rand        io.Reader                                        // default crypto/rand
	Sleep       func(ctx context.Context, d time.Duration) error // between an await's reads; default waits

	// Hints to other functions. An error is logged and changes nothing (G7).
	Notify   func(ctx context.Context, id ledger.ID) error // tell the approvers
	Dispatch func(ctx context.Context, id ledger.ID) error // run the executor

	// Decide.
	Approvers func(connection string) []string // who may decide now; a name that left the list decides nothing any more
	OnceTTL   time.Duration                    // how long an approval under `once` is remembered; default 24 h
}

// Principals finds a principal again long after its request, to check that it may still call.
type Principals interface {
	// Principal returns the principal with this id, or a *fault.Error with code Forbidden when it is gone, disabled or expired.
	Principal(ctx context.Context, id string) (identity.Principal, error)
}

// Gateway implements the use cases. It is safe for concurrent use and keeps nothing between calls but connections.
type Gateway struct {
	Config
	conns     map[string]conn.Connection
	upstreams map[string]Upstream
	lists     *listing.Lists
	deciding  []expr.Path // what of context the connections' conditions read
}

const (
	// defaultLease bounds an attempt whose context has no deadline of its own; on Lambda it always has one (R7).
	defaultLease = 5 * time.Minute
	// staleApproval is how long an approval may wait for its executor before an await sends for one again.
	staleApproval = 2 * time.Second
)

// New returns a Gateway. It panics when a required dependency is missing: that is a defect of the program.
func New(c Config) *Gateway {
	if c.Ledger == nil || c.Now == nil || c.Log == nil {
		panic("gateway.New: Ledger, Now and Log are required")
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Sleep == nil {
		c.Sleep = wait
	}
	if c.OnceTTL == 0 {
		c.OnceTTL = 24 * time.Hour
	}
	nothing := func(context.Context, ledger.ID) error { return nil }
	if c.Notify == nil {
		c.Notify = nothing
	}
	if c.Approvers == nil {
		c.Approvers = func(string) []string { return nil }
	}
	if c.Dispatch == nil {
		c.Dispatch = nothing
	}
	g := &Gateway{Config: c, conns: map[string]conn.Connection{}, upstreams: map[string]Upstream{}, deciding: deciding(c.Connections)}
	if c.Catalog != nil {
		g.lists = listing.New(c.Catalog.Tools, c.ListLimits)
	}
	for _, cn := range c.Connections {
		g.conns[cn.Name] = cn
		if c.Upstream != nil {
			g.upstreams[cn.Name] = c.Upstream(cn)
		}
	}
	return g
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notify tells the approvers; dispatch sends for an executor. Both are hints (G7): a crash right after the row was written loses
// them just as an error does, and the sweep finds the row either way.
func (g *Gateway) notify(ctx context.Context, id ledger.ID) {
	if err := g.Notify(ctx, id); err != nil {
		g.Log.Warn("approvers not notified now; the sweep will", "invocation", id, "err", err)
	}
}

func (g *Gateway) dispatch(ctx context.Context, id ledger.ID) {
	if err := g.Dispatch(ctx, id); err != nil {
		g.Log.Warn("executor not invoked now; the sweep will", "invocation", id, "err", err)
	}
}
