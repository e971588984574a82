package dev_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// TestTheFunctionsHonourLimitsAndRetention: what countersign.yml bounds is bounded where a decision is shown and where a row gets its
// end, in the functions and in the operator's command.
func TestTheFunctionsHonourLimitsAndRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := write(t, filepath.Join(dir, "countersign.yml"), "approvers: [{name: you}]\nlimits: {once_ttl: 1h}\nretention: 3650d\n")
	g := start(t, dev.Config{Dir: filepath.Join(dir, "data"), Demo: true, Settings: settings})

	id := park(t, g)
	o, err := app.NewOperator(t.Context(), g.Operator())
	if err != nil {
		t.Fatal(err)
	}
	if o.Gateway.OnceTTL != time.Hour {
		t.Errorf("the operator remembers an approval for %s, want 1h", o.Gateway.OnceTTL)
	}
	view, err := o.Gateway.View(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Gateway.Decide(t.Context(), gateway.Decision{
		ID: id, Choice: gateway.Decline, Approver: "you", Reason: "no", Proof: "test", Head: view.Head, Digest: view.DecisionDigest,
	}); err != nil {
		t.Fatal(err)
	}
	row, err := o.Ledger.Get(t.Context(), id, true)
	if err != nil {
		t.Fatal(err)
	}
	if kept := time.Until(row.DeleteAt); kept < 3649*24*time.Hour || kept > 3650*24*time.Hour {
		t.Errorf("the row is kept for %s, want 3650 days", kept)
	}
	state, err := dev.ReadState(filepath.Join(dir, "data"))
	if err != nil || state.OnceTTL != time.Hour || state.Retention != 3650*24*time.Hour {
		t.Errorf("the command is told %s and %s, %v", state.OnceTTL, state.Retention, err)
	}
}

// park makes a call that waits.
func park(t *testing.T, g *dev.Gateway) ledger.ID {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay__send","arguments":{"to":"acct-9","amount":100}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.Endpoint, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + g.Token.Reveal(), "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18",
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			StructuredContent struct {
				ID ledger.ID `json:"invocation_id"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Result.StructuredContent.ID == "" {
		t.Fatalf("the call did not park: %s", text)
	}
	return answer.Result.StructuredContent.ID
}
