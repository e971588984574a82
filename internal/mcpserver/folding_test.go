package mcpserver_test

import (
	"encoding/json"
	"testing"
)

// reading is what encoding/json makes of a message: it folds member names and lets the last one win, as many decoders do.
type reading struct{ id, method, arguments string }

func foldingReader(t testing.TB, body []byte) reading {
	t.Helper()
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		t.Fatalf("accepted, but encoding/json cannot read it: %v\n%q", err, body)
	}
	var params struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if len(envelope.Params) > 0 {
		if err := json.Unmarshal(envelope.Params, &params); err != nil {
			t.Fatalf("accepted, but encoding/json cannot read the params: %v\n%q", err, body)
		}
	}
	if string(params.Arguments) == "null" {
		params.Arguments = nil
	}
	return reading{string(envelope.ID), envelope.Method, string(params.Arguments)}
}
