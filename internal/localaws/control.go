package localaws

import (
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/localaws/accounting"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
)

// faultsAnswer is the body of GET /_faults, and of POST after the rules were added.
type faultsAnswer struct {
	Rules []chaos.State `json:"rules"`
	Held  int           `json:"held"` // ghost writes that have not landed
}

// accountingAnswer is the body of GET /_accounting.
type accountingAnswer struct {
	Total     accounting.Row   `json:"total"`
	Rows      []accounting.Row `json:"rows"`
	BareNames []string         `json:"bare_names"`
}

// mountControls serves the fault plan and the accounting over HTTP.
func (s *Server) mountControls() {
	s.mux.HandleFunc("GET /_faults", func(w http.ResponseWriter, _ *http.Request) { s.showFaults(w) })
	s.mux.HandleFunc("POST /_faults", s.addFaults)
	s.mux.HandleFunc("DELETE /_faults", func(w http.ResponseWriter, _ *http.Request) {
		s.faults.Clear()
		s.showFaults(w)
	})
	s.mux.HandleFunc("POST /_faults/release", func(w http.ResponseWriter, _ *http.Request) {
		show(w, map[string]int{"landed": s.faults.Release()})
	})
	s.mux.HandleFunc("GET /_accounting", func(w http.ResponseWriter, _ *http.Request) { s.showAccounting(w) })
	s.mux.HandleFunc("DELETE /_accounting", func(w http.ResponseWriter, _ *http.Request) {
		s.accounting.Reset()
		s.showAccounting(w)
	})
}

func (s *Server) showFaults(w http.ResponseWriter) {
	show(w, faultsAnswer{s.faults.Rules(), s.faults.Held()})
}

func (s *Server) showAccounting(w http.ResponseWriter) {
	show(w, accountingAnswer{s.accounting.Total(), s.accounting.Rows(), s.accounting.BareNames()})
}

// addFaults takes one rule or a list of rules.
func (s *Server) addFaults(w http.ResponseWriter, r *http.Request) {
	// A form on a web page cannot send this type, which A4 alone would not cover in
	// browsers that leave Origin out.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "the rules of /_faults are sent with Content-Type: application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, fmt.Sprintf("reading the rules: %v", err), http.StatusBadRequest)
		return
	}
	rules := make([]chaos.Rule, 1)
	into := any(&rules[0])
	if jsontext.Value(body).Kind() == '[' {
		into = &rules
	}
	err = json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		err = s.faults.Add(rules...)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.showFaults(w)
}

func show(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value, json.Deterministic(true), jsontext.Multiline(true))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// The caller may have gone; then nobody is left to tell.
	_, _ = w.Write(append(body, '\n'))
}
