package app_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/countersign-mcp/countersign/internal/app"
)

// TestTheBundleSaysHowLongThingsAreRemembered: the limits of countersign.yml reach whoever decides, and a file that is broken stops the
// one function that reads nothing else of it.
func TestTheBundleSaysHowLongThingsAreRemembered(t *testing.T) {
	t.Parallel()
	_, c := newEndpoint(t)
	files := bundle()
	files["countersign.yml"] = &fstest.MapFile{Data: []byte("approvers: [{name: ana}]\nlimits: {once_ttl: 2h}\nretention: 60d\n")}
	c.Bundle = files
	o, err := app.NewOperator(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if o.Gateway.OnceTTL != 2*time.Hour {
		t.Errorf("an approval is remembered for %s, want 2h", o.Gateway.OnceTTL)
	}
	if _, err := app.Expire(t.Context(), c, nil); err != nil {
		t.Errorf("expire: %v", err)
	}
	files["countersign.yml"] = &fstest.MapFile{Data: []byte("approvers: [{name: ana}]\nretention: 1d\n")}
	if _, err := app.Expire(t.Context(), c, nil); err == nil {
		t.Error("expire starts with a retention that is too short")
	}
}
