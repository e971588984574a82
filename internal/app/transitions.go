package app

import (
	"context"
	"log/slog"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/audit"
)

// logTransitions makes each won transition one line of the function's log: which event of which call, and the chain's head after it.
// Writing the table gives no right to write the log, so `countersign verify --heads` sees in it what an edited row hides. The line
// holds nothing of the call itself. A crash right before it leaves an event that was not logged; the next one's head covers it.
func logTransitions(log *slog.Logger) func(context.Context, ledger.Transition) {
	return func(ctx context.Context, t ledger.Transition) {
		log.LogAttrs(ctx, slog.LevelInfo, audit.Message,
			slog.String("id", string(t.ID)), slog.Int("n", t.N), slog.String("head", t.Head), slog.String("kind", string(t.Kind)))
	}
}
