package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// reader answers tools/list page by page: each reading of the list meets the next of readings, and the last one for ever.
type reader struct {
	mu       sync.Mutex
	readings [][][]string // by reading, by page: "name" or "name:description"; "!" refuses the cursor
	begun    int
	pages    int
}

func (r *reader) intercept(w http.ResponseWriter, _ *http.Request, body []byte) bool {
	var q struct {
		ID     json.RawMessage
		Method string
		Params struct{ Cursor *string }
	}
	if json.Unmarshal(body, &q) != nil || q.Method != "tools/list" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages++
	page := 0
	if q.Params.Cursor == nil {
		r.begun++
	} else if _, err := fmt.Sscan(*q.Params.Cursor, &page); err != nil {
		return false
	}
	pages := r.readings[min(r.begun, len(r.readings))-1]
	w.Header().Set("Content-Type", "application/json")
	var tools []string
	for _, t := range pages[page] {
		if t == "!" {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,"error":{"code":-32602,"message":"unknown cursor"}}`)
			return true
		}
		name, description, _ := strings.Cut(t, ":")
		tools = append(tools, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description))
	}
	next := ""
	if page+1 < len(pages) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, page+1)
	}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":{"tools":[`+strings.Join(tools, ",")+`]`+next+`}}`)
	return true
}

// A list that changes while its pages are read shows a tool twice, or not at all. What is served is one reading that was whole.
func TestAListThatMovesIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		readings [][][]string
		want     []string
		err      string
		readBy   int // how often the list was read
	}{
		"it stood still":                          {[][][]string{{{"a", "b"}, {"c"}}}, []string{"a", "b", "c"}, "", 1},
		"it moved once":                           {[][][]string{{{"a", "b"}, {"b", "c"}}, {{"new", "a"}, {"b", "c"}}}, []string{"a", "b", "c", "new"}, "", 2},
		"a tool was changed between two pages":    {[][][]string{{{"a:old"}, {"a:new"}}, {{"a:new"}, {"b"}}}, []string{"a", "b"}, "", 2},
		"its pages overlap whenever it is read":   {[][][]string{{{"a", "b"}, {"b", "c"}}}, []string{"a", "b", "c"}, "", 2},
		"two tools of one name, whenever":         {[][][]string{{{"a:one"}, {"a:two"}}}, nil, `tool "a": the server lists it twice`, 2},
		"it never stands still":                   {[][][]string{{{"a"}, {"a"}}, {{"b"}, {"b"}}, {{"c"}, {"c"}}}, nil, "changes while it is read, 3 times", 3},
		"it took a cursor back":                   {[][][]string{{{"a"}, {"!"}}, {{"a"}, {"b"}}}, []string{"a", "b"}, "", 2},
		"it takes every cursor back":              {[][][]string{{{"a"}, {"!"}}}, nil, "changes while it is read, 3 times", 3},
		"it refuses to begin":                     {[][][]string{{{"!"}}}, nil, "JSON-RPC error -32602", 1},
		"one page with a tool twice is no motion": {[][][]string{{{"a:one", "a:two"}}}, nil, `tool "a": the server lists it twice`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reader{readings: c.readings}
			s := serve(t, upstreamtest.Options{Intercept: r.intercept})
			cat, err := build(t, s)
			if r.begun != c.readBy {
				t.Errorf("the list was read %d times, want %d", r.begun, c.readBy)
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tl := range cat.Tools {
				got = append(got, tl.Upstream)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
