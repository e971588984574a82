package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/mcpserver"
	"github.com/countersign-mcp/countersign/tests/arch"
)

// table returns the rows of the first table below a heading, each as its cells; the head is left out.
func table(t *testing.T, text, below string) [][]string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+below+"\n")
	if !ok {
		t.Fatalf("there is no heading %q", below)
	}
	var rows [][]string
	for line := range strings.SplitSeq(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("there is no table below %q", below)
	}
	return rows[2:]
}

var code = regexp.MustCompile("`([^`]+)`")

func codes(cell string) []string {
	var all []string
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestTiers holds the table of docs/architecture.md against the one that is enforced (D5).
func TestTiers(t *testing.T) {
	t.Parallel()
	page := read(t, "architecture.md")
	got, want := map[string]string{}, map[string]string{}
	for _, cells := range table(t, page, "### Tiers") {
		now, later, _ := strings.Cut(cells[1], "later:")
		for _, name := range codes(now) {
			got[name] = cells[0]
		}
		for _, name := range codes(later) {
			got[name] = cells[0] + " later"
		}
	}
	for _, p := range arch.Project.Packages {
		tier := fmt.Sprint(p.Tier)
		if _, err := os.Stat(filepath.Join(root, p.Path)); err != nil {
			tier += " later"
		}
		want[strings.TrimPrefix(p.Path, "internal/")] = tier
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tiers differ from tests/arch/table.go (-arch +page):\n%s", diff)
	}
	edges, wantEdges := []string{}, []string{}
	for _, cells := range table(t, page, "### Edges inside one tier") {
		edges = append(edges, strings.Join(codes(cells[0]), " -> ")+" "+regexp.MustCompile(`\d{4}-[\w-]+\.md`).FindString(cells[1]))
	}
	for _, e := range arch.Project.SameTier {
		wantEdges = append(wantEdges, strings.TrimPrefix(e.From, "internal/")+" -> "+strings.TrimPrefix(e.To, "internal/")+" "+e.Record)
	}
	if diff := cmp.Diff(wantEdges, edges); diff != "" {
		t.Errorf("the edges differ from tests/arch/table.go (-arch +page):\n%s", diff)
	}
}

var quoted = regexp.MustCompile("(?m)^> (T\\w+) `(\\w+)`: (?:PutItem, )?`([^`]+)`$")

// TestConditions holds the conditions that docs/architecture.md quotes against the transition table (D5).
func TestConditions(t *testing.T) {
	t.Parallel()
	found := quoted.FindAllStringSubmatch(read(t, "architecture.md"), -1)
	if len(found) < 4 {
		t.Errorf("only %d conditions are quoted", len(found))
	}
	for _, m := range found {
		if !slices.ContainsFunc(ledger.Table(), func(r ledger.Row) bool {
			return r.Rule == m[1] && string(r.Kind) == m[2] && r.Condition == m[3]
		}) {
			t.Errorf("the transition table has no %s %s with the condition %s", m[1], m[2], m[3])
		}
	}
}

// TestErrorTable makes the endpoint answer every fault code in every era, and holds the table of docs/mcp.md against it (D5).
func TestErrorTable(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{}
	var order []string
	for _, cells := range table(t, read(t, "mcp.md"), "### Fault codes") {
		name := codes(cells[0])[0]
		order = append(order, name)
		rows[name] = cells[2:]
	}
	var want []string
	for _, c := range fault.Codes() {
		want = append(want, string(c))
		var forms []string
		for _, era := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			forms = append(forms, formIn(t, era, c))
		}
		if diff := cmp.Diff(forms, rows[string(c)]); diff != "" {
			t.Errorf("%s (-endpoint +page):\n%s", c, diff)
		}
	}
	if !slices.Equal(want, order) {
		t.Errorf("the page has %v, the codes are %v", order, want)
	}
}

// formIn is how a tools/call that ends in a fault is answered, in the words of the page.
func formIn(t *testing.T, era string, c fault.Code) string {
	t.Helper()
	status, a := send(t, era, "tools/call", fixed{err: fault.New(c, "crm__search: what happened").With("arguments", true)})
	switch {
	case a.Error != nil:
		return fmt.Sprintf("%d, error %d", status, a.Error.Code)
	case a.Result.IsError:
		return fmt.Sprintf("%d, result with `isError`", status)
	}
	return fmt.Sprintf("%d, result", status)
}

// TestMethods asks the endpoint for every method that docs/mcp.md names, in both eras, and holds its table against it (D5).
func TestMethods(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, cells := range table(t, read(t, "mcp.md"), "## Who answers what") {
		for _, method := range codes(cells[0]) {
			for era, cell := range map[string]string{"2025-11-25": cells[1], "2026-07-28": cells[2]} {
				asked++
				status, a := send(t, era, method, fixed{})
				got := fmt.Sprintf("yes, %d", status)
				if a.Error != nil {
					got = fmt.Sprintf("%d, %d", a.Error.Code, status)
				}
				want := "yes, 200"
				switch {
				case strings.HasPrefix(cell, "-32601") && era == "2026-07-28":
					want = "-32601, 404"
				case strings.HasPrefix(cell, "-32601"):
					want = "-32601, 200"
				case !strings.HasPrefix(cell, "yes"):
					t.Errorf("%s: %q says neither yes nor -32601", method, cell)
				}
				if got != want {
					t.Errorf("%s in %s: %s, the page says %s", method, era, got, want)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d requests are in the table", asked)
	}
}

// rpcAnswer is as much of an answer as the tables tell of.
type rpcAnswer struct {
	Error  *struct{ Code int }
	Result *struct{ IsError bool }
}

func send(t *testing.T, era, method string, g fixed) (status int, a rpcAnswer) {
	t.Helper()
	h, err := mcpserver.New(mcpserver.Config{
		Gateway: g, Authorizer: anybody{}, Name: "countersign", Version: "test",
		SessionKey: make([]byte, 32), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	params := `"name":"crm__search","arguments":{},"uri":"file:///x","taskId":"x","protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`
	if method == "tools/call" {
		params = `"name":"crm__search","arguments":{}`
	}
	if era == "2026-07-28" {
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	name := map[string]string{"resources/read": "file:///x", "tasks/get": "x"}[method]
	if name == "" {
		name = "crm__search"
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`))
	for header, value := range map[string]string{"Content-Type": "application/json", "Mcp-Protocol-Version": era, "Mcp-Method": method, "Mcp-Name": name} {
		r.Header.Set(header, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%s in %s: %v", method, era, err)
	}
	return w.Code, a
}

// fixed is a gateway that answers every call alike.
type fixed struct{ err error }

func (f fixed) List(context.Context, identity.Principal, gateway.ListRequest) (gateway.ListPage, error) {
	return gateway.ListPage{Tools: json.RawMessage("[]")}, f.err
}

func (f fixed) Call(context.Context, identity.Principal, gateway.CallRequest) (gateway.Reply, error) {
	return gateway.Reply{Result: json.RawMessage(`{"content":[]}`)}, f.err
}

type anybody struct{}

func (anybody) Authorize(context.Context, http.Header) (identity.Principal, error) {
	return identity.Principal{ID: "client:test", Name: "test"}, nil
}

// statuses holds the table of statuses against what the scenario was told (D5).
func statuses(t *testing.T, page string, isError map[string]bool) {
	t.Helper()
	got := map[string]bool{}
	for _, cells := range table(t, page, "### Statuses") {
		for _, name := range codes(cells[0]) {
			got[name] = cells[1] == "yes"
		}
	}
	for name, want := range isError {
		if name == "done" || name == "definition_changed" { // the first is the server's own result; the second is a not_executed
			continue
		}
		if is, there := got[name]; !there || is != want {
			t.Errorf("docs/mcp.md: the status %s has isError %v, and the table says otherwise (named: %v)", name, want, there)
		}
	}
	for _, s := range []gateway.Status{gateway.StatusAwaiting, gateway.StatusRunning, gateway.StatusInDoubt, gateway.StatusDenied, gateway.StatusExpired,
		gateway.StatusCancelled, gateway.StatusNotExecuted, gateway.StatusUnknown, gateway.StatusAttested, gateway.StatusErased} {
		if _, there := got[string(s)]; !there {
			t.Errorf("docs/mcp.md: the table of statuses has no %s", s)
		}
	}
}

var promise = regexp.MustCompile(`\b[A-Z]\d{1,2}\b`)

// TestPromisesAreThere: a promise that docs/security.md names stands in the doc.go of some package.
func TestPromisesAreThere(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, "internal", "*", "doc.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no doc.go: %v", err)
	}
	more, err := filepath.Glob(filepath.Join(root, "internal", "*", "*", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		for _, id := range promise.FindAllString(read(t, file), -1) {
			there[id] = true
		}
	}
	for _, cells := range table(t, read(t, "security.md"), "## Threats and controls") {
		named := cells[2]
		if !promise.MatchString(named) && len(codes(named)) == 0 {
			t.Errorf("%q names no promise and no test", cells[0])
		}
		for _, id := range promise.FindAllString(named, -1) {
			if !there[id] {
				t.Errorf("no doc.go has the promise %s of %q", id, cells[0])
			}
		}
	}
}
