package gateway

import (
	"context"
	"errors"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// reply tells a caller where its invocation stands, in the words of package answer, or gives it the remote's own answer.
func (g *Gateway) reply(ctx context.Context, inv ledger.Invocation, deduplicated bool) (Reply, error) {
	if r, ok := answer.Of(inv, deduplicated); ok {
		return r, nil
	}
	if inv.State == ledger.Completed {
		return g.recorded(ctx, inv)
	}
	return Reply{}, fault.New(fault.Internal, "invocation %s is in the unknown state %q: it was written by a newer version", inv.Key.ID(), inv.State)
}

// recorded answers what the remote answered, byte for byte, as often as it is asked.
func (g *Gateway) recorded(ctx context.Context, inv ledger.Invocation) (Reply, error) {
	res, err := g.Ledger.Result(ctx, inv)
	if errors.Is(err, ledger.ErrErased) {
		return answer.OfErased(inv), nil
	}
	if err != nil {
		return Reply{}, fault.Wrap(err, fault.Unavailable, "the call ran, but its recorded result cannot be read now; ask again, do not repeat the call")
	}
	r := Reply{Status: StatusDone, ID: inv.Key.ID()}
	if res.Kind == ledger.ResultError {
		r.Error = res.Body
	} else {
		r.Result = res.Body
	}
	return r, nil
}
