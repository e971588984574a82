package app_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/audit"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

// TestEachTransitionIsOneLogLine: what the log keeps is what verify reads, and nothing of the call.
func TestEachTransitionIsOneLogLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := ledger.New(ledger.Config{Store: memledger.New(), Won: app.LogTransitions(slog.New(slog.NewJSONHandler(&out, nil)))})
	at := ledgertest.Begin()
	inv, _, err := l.Create(t.Context(), ledgertest.Draft("logged"), ledger.Park, ledger.Actor{By: "principal:client:7"}, at, at)
	if err == nil {
		inv, err = l.Do(t.Context(), inv, ledger.Command{Kind: ledger.Decline, Actor: ledger.Actor{By: "approver:ana"}, Approver: "ana", At: at.Add(time.Second), Reason: "a private reason"})
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2:\n%s", len(lines), out.String())
	}
	heads := inv.Heads()
	for i, line := range lines {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if got["level"] != "INFO" || got["msg"] != "transition" || got["id"] != string(inv.Key.ID()) || got["n"] != float64(i+1) || got["head"] != heads[i] || got["kind"] != string(inv.Events[i].Kind) {
			t.Errorf("line %d: %s", i+1, line)
		}
		delete(got, "time")
		if len(got) != 6 || strings.Contains(line, "acct-9") || strings.Contains(line, "private") {
			t.Errorf("line %d says more than it should: %s", i+1, line)
		}
	}
	logged, err := audit.ReadHeads(&out)
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Checker{Results: l, Heads: logged}.Check(t.Context(), inv)
	if err != nil || r.Verdict != audit.Holds || r.Logged != 2 {
		t.Errorf("report %+v, %v", r, err)
	}
}
