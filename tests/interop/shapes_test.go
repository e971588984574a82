package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	gw "github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/mcpserver"
	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/countersign-mcp/countersign/internal/upstream"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// shapesToken is what the clients of the shapes send.
const shapesToken = "cst1.shapes"

// definition is one tool as its server lists it.
type definition struct {
	connection, name string
	raw              json.RawMessage
}

func (d definition) served() string {
	clean := func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			return r
		}
		return '_'
	}
	return d.connection + "__" + strings.Map(clean, d.name)
}

// shapes reads the lists of tools that kinds of servers have, rebuilt from what is known of real ones, each tool cloned until there are
// as many as the real server had.
func shapes(t testing.TB) []definition {
	t.Helper()
	files, err := filepath.Glob("../../internal/catalog/testdata/shapes/*.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d shapes, %v", len(files), err)
	}
	var all []definition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var shape struct {
			ID     string
			Expand struct{ To int }
			Pages  []struct {
				Connection string
				Tools      []json.RawMessage
				ExpandTo   int `json:"expand_to"`
			} `json:"tools_list_pages"`
		}
		if err := json.Unmarshal(text, &shape); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		connection, _, _ := strings.Cut(strings.ToLower(shape.ID), "-")
		for _, page := range shape.Pages {
			if page.Connection != "" {
				connection = page.Connection
			}
			for i := range max(len(page.Tools), page.ExpandTo, shape.Expand.To) {
				raw := page.Tools[i%len(page.Tools)]
				d := definition{connection: connection, name: nameIn(t, raw), raw: raw}
				if i >= len(page.Tools) {
					was := d.name
					d.name += fmt.Sprintf("_%03d", i)
					d.raw = renamed(raw, was, d.name)
				}
				all = append(all, d)
			}
		}
	}
	return all
}

func nameIn(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var named struct{ Name string }
	if err := json.Unmarshal(raw, &named); err != nil || named.Name == "" {
		t.Fatalf("a tool without a name: %v in %s", err, raw)
	}
	return named.Name
}

// renamed puts another name into a definition's text. Only bytes are exchanged, so that nothing else can change.
func renamed(raw json.RawMessage, was, is string) json.RawMessage {
	return bytes.Replace(raw, []byte(`"`+was+`"`), []byte(`"`+is+`"`), 1)
}

// compacted takes the white space between tokens away and leaves every token as it is.
func compacted(t testing.TB, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// edits counts what else than the name is not as the server listed it.
type edits struct{ typed, withoutOutput int }

// expected is what clients are to be listed of a definition: the server's bytes under the served name. Three things beside the name may
// change, and only they: a root schema without a type gets the one that it must have; where a call may wait, the output schema goes,
// because a waiting answer does not have its form; and for legacy clients one that describes no object goes, because they know no other.
func (d definition) expected(t testing.TB, modern bool, count *edits) json.RawMessage {
	t.Helper()
	raw := compacted(t, renamed(d.raw, d.name, d.served()))
	var has struct{ InputSchema, OutputSchema json.RawMessage }
	if err := json.Unmarshal(raw, &has); err != nil {
		t.Fatal(err)
	}
	var input, output struct{ Type any }
	_ = json.Unmarshal(has.OutputSchema, &output) // true and false are schemas of no object, too
	if has.OutputSchema != nil && (d.connection == gatedShape || !modern && output.Type != "object") {
		raw = bytes.Replace(raw, append([]byte(`,"outputSchema":`), has.OutputSchema...), nil, 1)
		count.withoutOutput++
	}
	if err := json.Unmarshal(has.InputSchema, &input); err != nil {
		t.Fatal(err)
	}
	if input.Type == nil {
		typed := strings.Replace(strings.TrimSuffix(string(has.InputSchema), "}")+`,"type":"object"}`, "{,", "{", 1)
		raw = bytes.Replace(raw, append([]byte(`"inputSchema":`), has.InputSchema...), []byte(`"inputSchema":`+typed), 1)
		count.typed++
	}
	return raw
}

// gatedShape is the connection whose calls wait for a person; the others run at once.
const gatedShape = "s03"

// startShapes serves every shape as a server of its own and all of them through a gateway; every second server is a legacy one, and
// they list their tools in pages of 30.
func startShapes(t *testing.T, all []definition) (endpoint string, servers map[string]*upstreamtest.Server) {
	t.Helper()
	servers = map[string]*upstreamtest.Server{}
	byConnection := map[string][]upstreamtest.Tool{}
	for _, d := range all {
		byConnection[d.connection] = append(byConnection[d.connection], upstreamtest.Tool{Name: d.name, Raw: d.raw})
	}
	var conns []conn.Connection
	for i, name := range slices.Sorted(maps.Keys(byConnection)) {
		era := []upstreamtest.Era{upstreamtest.Modern, upstreamtest.Legacy}[i%2]
		server, err := upstreamtest.New(upstreamtest.Options{Era: era, Tools: byConnection[name], PageSize: 30})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		servers[name] = server
		approval := conn.Never
		if name == gatedShape {
			approval = conn.Always
		}
		conns = append(conns, conn.Connection{Name: name, URL: server.URL(), Approval: approval, Effect: conn.AtMostOnce,
			Timeout: 30 * time.Second, ApprovalTTL: time.Hour, File: name + ".yml"})
	}
	remote := upstream.New(upstream.Config{Log: slog.New(slog.DiscardHandler)})
	built, err := catalog.Build(t.Context(), conns, catalog.Options{Discover: remote, Secrets: noSecrets{}})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := built.Encode() // as a deployment does: what is served is what was written and read again
	if err != nil {
		t.Fatal(err)
	}
	if built, err = catalog.Decode(encoded); err != nil {
		t.Fatal(err)
	}
	key := bytes.Repeat([]byte("k"), 32)
	g := gw.New(gw.Config{
		Ledger: ledger.New(ledger.Config{Store: memledger.New()}), Now: time.Now, Log: slog.New(slog.DiscardHandler), Keyer: ledger.NewKeyer(key),
		Catalog: built, Approvers: func(string) []string { return []string{"ana"} }, Connections: conns, Secrets: noSecrets{}, Upstream: func(conn.Connection) gw.Upstream { return remote },
	})
	handler, err := mcpserver.New(mcpserver.Config{
		Gateway: g, Authorizer: tokenOnly{}, Definition: g.Definition, Name: "countersign", Version: "shapes", SessionKey: key,
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/mcp", servers
}

type noSecrets struct{}

func (noSecrets) Secret(_ context.Context, path string) (secret.Value, error) {
	return secret.Value{}, fmt.Errorf("%w: %s", secret.ErrNotFound, path)
}

type tokenOnly struct{}

func (tokenOnly) Authorize(_ context.Context, h http.Header) (identity.Principal, error) {
	if h.Get("Authorization") != "Bearer "+shapesToken {
		return identity.Principal{}, fault.New(fault.Unauthenticated, "no client token")
	}
	return identity.Principal{ID: "client:shapes", Name: "shapes", Scopes: identity.Scopes{"call:*"}}, nil
}

// pagesOf reads all pages of the endpoint, raw.
func pagesOf(t *testing.T, endpoint string, modern bool) (definitions []json.RawMessage, pages int) {
	t.Helper()
	for cursor := ""; ; {
		params := []string{}
		if cursor != "" {
			params = append(params, fmt.Sprintf(`"cursor":%q`, cursor))
		}
		if modern {
			params = append(params, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + strings.Join(params, ",") + `}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+shapesToken)
		if modern {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", "tools/list")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // it was read to its end
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("tools/list: %v, %s %s", err, answer.Status, text)
		}
		var page struct {
			Result struct {
				Tools      []json.RawMessage
				NextCursor string
			}
		}
		if err := json.Unmarshal(text, &page); err != nil {
			t.Fatal(err)
		}
		definitions, pages = append(definitions, page.Result.Tools...), pages+1
		if cursor = page.Result.NextCursor; cursor == "" {
			return definitions, pages
		}
	}
}

// TestShapesThroughTheGateway: what each kind of server lists is what clients of both eras are listed, byte for byte but for the name and
// what expected says.
func TestShapesThroughTheGateway(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	endpoint, _ := startShapes(t, all)
	for era, modern := range map[string]bool{"legacy": false, "modern": true} {
		want := map[string]string{}
		var count edits
		for _, d := range all {
			want[d.served()] = string(d.expected(t, modern, &count))
		}
		if len(want) != len(all) {
			t.Fatalf("%d names for %d tools", len(want), len(all))
		}
		got, pages := pagesOf(t, endpoint, modern)
		var last string
		same := 0
		for i, raw := range got {
			name := nameIn(t, raw)
			if i == len(got)-1 {
				if name != awaitTool {
					t.Errorf("%s: the last tool is %s, want %s", era, name, awaitTool)
				}
				continue
			}
			if name <= last {
				t.Errorf("%s: %s comes after %s", era, name, last)
			}
			last = name
			if want[name] != string(raw) {
				t.Errorf("%s: %s is served as\n%s\nwant\n%s", era, name, raw, want[name])
				continue
			}
			same++
		}
		t.Logf("measure: %s: %d tools of 12 kinds of servers on %d pages, %d byte for byte as they are to be: the server's but for the name, %d without their output schema, %d with the type that was missing",
			era, len(got)-1, pages, same, count.withoutOutput, count.typed)
		if same != len(all) {
			t.Errorf("%s: %d of %d tools are as their servers list them", era, same, len(all))
		}
	}
}
