package app

import (
	"context"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Operator is what an operator's command works with: it reads the ledger and decides, like the approve function, with the
// caller's own AWS rights. It sends nothing upstream.
type Operator struct {
	Gateway   *gateway.Gateway
	Ledger    *ledger.Ledger
	Approvers []string
	Retention time.Duration // how long a call is kept after its end, as the deployment's files say now; 0: the ledger's default
}

// NewOperator returns an Operator. The bundle's countersign.yml says who may decide.
func NewOperator(_ context.Context, c Config) (*Operator, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	b := bundle{connections: c.Connections, approvers: c.Approvers, onceTTL: c.OnceTTL, retention: c.Retention}
	if b.approvers == nil {
		if b, err = c.connectionsAndApprovers(); err != nil {
			return nil, err
		}
	}
	l := c.ledger(b)
	g := gateway.New(gateway.Config{
		Ledger: l, Now: c.Now, Log: c.Log, OnceTTL: b.onceTTL, Notify: c.hint("notify", eventNotify), Dispatch: c.hint("mcp", eventExecute), Approvers: b.approversOf,
	})
	return &Operator{Gateway: g, Ledger: l, Approvers: b.approvers, Retention: b.retention}, nil
}
