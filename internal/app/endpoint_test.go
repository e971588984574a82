package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/countersign-mcp/countersign/internal/app"
)

// endpoint is as much of SSM and Lambda as functions use to start and to send hints, and keeps what it was asked.
type endpoint struct {
	mu         sync.Mutex
	parameters map[string]string
	reads      []string // names, and paths with a slash at the end
	other      []string // any other operation
	invokes    []invoke
	refuses    string // text of the error that every write gets
}

type invoke struct{ Function, Type, Payload string }

// newEndpoint returns an endpoint, and the configuration of a stage on it.
func newEndpoint(t testing.TB) (*endpoint, app.Config) {
	t.Helper()
	e := &endpoint{parameters: map[string]string{}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	c := app.Config{Stage: "test", AWS: app.LocalAWS(server.URL), Now: time.Now, Bundle: bundle()}
	c.AWS.RetryMaxAttempts = 1
	return e, c
}

// bundle is what a deploy leaves beside the binary.
func bundle() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"connections/crm.yml": file("url: https://crm.example.test/mcp\nauth: {type: bearer, credential: crm.token}\napproval: always\n"),
		"countersign.yml":     file("approvers:\n  - name: ana\n"),
		"catalog.json":        file(""),
	}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if function, ok := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/"); ok {
		e.invokes = append(e.invokes, invoke{strings.TrimSuffix(function, "/invocations"), r.Header.Get("X-Amz-Invocation-Type"), string(body)})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var in struct{ Name, Path, Value string }
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fail := func(kind, message string) {
		w.Header().Set("X-Amzn-ErrorType", kind)
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "message": message})
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "GetParameter":
		e.reads = append(e.reads, in.Name)
		if v, ok := e.parameters[in.Name]; ok {
			_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]string{"Name": in.Name, "Value": v}})
			return
		}
		fail("ParameterNotFound", "")
	case "GetParametersByPath":
		e.reads = append(e.reads, in.Path+"/")
		found := []map[string]string{}
		for name, v := range e.parameters {
			if strings.HasPrefix(name, in.Path+"/") {
				found = append(found, map[string]string{"Name": name, "Value": v})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Parameters": found})
	case "PutParameter":
		if e.refuses != "" {
			fail("ValidationException", strings.ReplaceAll(e.refuses, "VALUE", in.Value))
			return
		}
		e.parameters[in.Name] = in.Value
		_ = json.NewEncoder(w).Encode(map[string]int{"Version": 1})
	default:
		e.other = append(e.other, operation)
		fail("UnknownOperationException", "")
	}
}

// asked returns what was read since the last time, sorted.
func (e *endpoint) asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	reads := e.reads
	e.reads = nil
	slices.Sort(reads)
	return reads
}

func (e *endpoint) without(names ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range names {
		delete(e.parameters, n)
	}
}
