package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/secret"
)

type build func(context.Context, app.Config, error) (*functionurl.Handler, error)

func functions() map[string]build {
	return map[string]build{"mcp": app.MCP, "approve": app.Approve, "notify": app.Notify, "expire": app.Expire}
}

// deployed is an endpoint with everything that a deployment has.
func deployed(t testing.TB) (*endpoint, app.Config) {
	t.Helper()
	e, c := newEndpoint(t)
	if _, err := app.InitKeys(t.Context(), c, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if err := app.PublishURLs(t.Context(), c, "https://mcp.example.test", "https://approve.example.test"); err != nil {
		t.Fatal(err)
	}
	e.parameters["/countersign/test/clients/abcdefghijkl"] = `{"name":"desk","sha256":"00"}`
	e.parameters["/countersign/test/credentials/crm/token"] = "canary"
	encoded, err := (&catalog.Catalog{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	c.Bundle.(fstest.MapFS)["catalog.json"].Data = encoded
	e.asked()
	return e, c
}

// key returns the one name below a path of the stage.
func (e *endpoint) key(t testing.TB, below string) string {
	t.Helper()
	for name := range e.parameters {
		if strings.HasPrefix(name, "/countersign/test/"+below) {
			return name
		}
	}
	t.Fatalf("no parameter below %s", below)
	return ""
}

// TestA1AFunctionThatMissesSomethingDoesNotStart attacks A1: the error names what is missing and the cure.
func TestA1AFunctionThatMissesSomethingDoesNotStart(t *testing.T) {
	t.Parallel()
	file := func(name string, data *string) func(*testing.T, *endpoint, *app.Config) {
		return func(_ *testing.T, _ *endpoint, c *app.Config) {
			if data == nil {
				delete(c.Bundle.(fstest.MapFS), name)
			} else {
				c.Bundle.(fstest.MapFS)[name].Data = []byte(*data)
			}
		}
	}
	parameter := func(below, value string) func(*testing.T, *endpoint, *app.Config) {
		return func(t *testing.T, e *endpoint, _ *app.Config) {
			name := e.key(t, below)
			e.parameters[name] = value
			if value == "" {
				e.without(name)
			}
		}
	}
	text := func(s string) *string { return &s }
	for name, row := range map[string]struct {
		functions []string
		breaks    func(*testing.T, *endpoint, *app.Config)
		says      []string
	}{
		"no stage":                        {[]string{"mcp", "approve", "notify", "expire"}, func(_ *testing.T, _ *endpoint, c *app.Config) { c.Stage = "" }, []string{"COUNTERSIGN_STAGE"}},
		"no gateway key":                  {[]string{"mcp"}, parameter("keys/gateway", ""), []string{"/countersign/test/keys/gateway", "countersign keys init"}},
		"a gateway key of other size":     {[]string{"mcp"}, parameter("keys/gateway", "c2hvcnQ="), []string{"32 bytes", "countersign keys init"}},
		"a gateway key that is none":      {[]string{"mcp"}, parameter("keys/gateway", "canary!"), []string{"32 bytes", "countersign keys init"}},
		"no catalog":                      {[]string{"mcp"}, file("catalog.json", nil), []string{"catalog.json", "the deploy builds it"}},
		"a catalog that is none":          {[]string{"mcp"}, file("catalog.json", text("{")), []string{"catalog.json"}},
		"a connection with a mistake":     {[]string{"mcp", "approve", "notify"}, file("connections/crm.yml", text("url: https://crm.example.test/mcp\napproval: ask\n")), []string{"connections/crm.yml:2:11", "approval-value", "countersign check"}},
		"no connections":                  {[]string{"mcp", "approve", "notify"}, file("connections/crm.yml", nil), []string{"connections"}},
		"no settings":                     {[]string{"mcp", "approve", "notify"}, file("countersign.yml", nil), []string{"countersign.yml", "missing"}},
		"an approver nobody knows":        {[]string{"mcp", "approve", "notify"}, file("connections/crm.yml", text("url: https://crm.example.test/mcp\napprovers: [bo]\n")), []string{"crm.yml", `"bo"`}},
		"no address of the pages":         {[]string{"approve", "notify"}, parameter("urls/approve", ""), []string{"/countersign/test/urls/approve", "the deploy publishes it"}},
		"no public link key":              {[]string{"approve"}, parameter("link/pub", ""), []string{"public link key", "countersign keys init"}},
		"a public link key that is none":  {[]string{"approve"}, parameter("link/pub", "canary"), []string{"public link key"}},
		"no active link key":              {[]string{"notify"}, parameter("link/active", ""), []string{"/countersign/test/link/active", "countersign keys init"}},
		"no private link key":             {[]string{"notify"}, parameter("link/priv", ""), []string{"/countersign/test/link/priv/", "countersign keys init"}},
		"a private link key that is none": {[]string{"notify"}, parameter("link/priv", "canary"), []string{"link key"}},
	} {
		for _, fn := range row.functions {
			t.Run(name+": "+fn, func(t *testing.T) {
				t.Parallel()
				e, c := deployed(t)
				row.breaks(t, e, &c)
				h, err := functions()[fn](t.Context(), c, nil)
				if err == nil || h != nil {
					t.Fatalf("it starts: %v, %v", h, err)
				}
				for _, want := range row.says {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("err = %v\nwant it to say %q", err, want)
					}
				}
				if strings.Contains(err.Error(), "canary") {
					t.Errorf("the error holds a value: %v", err)
				}
			})
		}
	}
	t.Run("a configuration that could not be read is passed on", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("no region")
		for fn, build := range functions() {
			if _, err := build(t.Context(), app.Config{}, broken); !errors.Is(err, broken) {
				t.Errorf("%s: %v", fn, err)
			}
		}
	})
}

// TestA2WhatEachFunctionReads attacks A2: the roles allow no more than this, so a function that reads more would not start, and one
// whose role allowed more could read what it must not.
func TestA2WhatEachFunctionReads(t *testing.T) {
	t.Parallel()
	for fn, want := range map[string][]string{
		"mcp":     {"keys/gateway"}, // clients, vars and credentials at each call
		"approve": {"link/pub/", "urls/approve"},
		"notify":  {"link/active", "link/priv/KID", "urls/approve"},
		"expire":  nil,
	} {
		t.Run(fn, func(t *testing.T) {
			t.Parallel()
			e, c := deployed(t)
			if _, err := functions()[fn](t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range e.asked() {
				name = strings.TrimPrefix(name, "/countersign/test/")
				if strings.HasPrefix(name, "link/priv/") {
					name = "link/priv/KID"
				}
				got = append(got, name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reads at start (-want +got):\n%s", diff)
			}
			if len(e.other) > 0 || len(e.invokes) > 0 {
				t.Errorf("it also does %v %v", e.other, e.invokes)
			}
		})
	}
}

// TestA2WhatEachFunctionAnswers attacks A2 from outside: an event that is another function's work is refused.
func TestA2WhatEachFunctionAnswers(t *testing.T) {
	t.Parallel()
	id := ledgertest.Draft("x").Key.ID()
	for fn, build := range functions() {
		_, c := deployed(t)
		h, err := build(t.Context(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		for event, owner := range map[string]string{"execute": "mcp", "relist": "mcp", "notify": "notify", "scan": "expire", "decide": "nobody"} {
			_, err := h.Invoke(t.Context(), fmt.Appendf(nil, `{"countersign":%q,"invocation_id":%q}`, event, id))
			if refused := errors.Is(err, functionurl.ErrUnknownEvent); refused == (owner == fn) {
				t.Errorf("%s, event %s: %v", fn, event, err)
			}
		}
		_, err = h.Invoke(t.Context(), []byte(`{"source":"aws.events","detail-type":"Scheduled Event"}`))
		if refused := errors.Is(err, functionurl.ErrUnknownEvent); refused == (fn == "expire") {
			t.Errorf("%s, scheduled event: %v", fn, err)
		}
		_, err = h.Invoke(t.Context(), []byte(`{"version":"2.0","requestContext":{"http":{"method":"GET","path":"/"}}}`))
		if noURL := errors.Is(err, functionurl.ErrNoURL); noURL != (fn == "expire" || fn == "notify") {
			t.Errorf("%s, URL: %v", fn, err)
		}
	}
}

// TestHintsCarryTheIDAlone: the row decides, so a forged or doubled hint has nothing to say.
func TestHintsCarryTheIDAlone(t *testing.T) {
	t.Parallel()
	e, c := newEndpoint(t)
	id := ledgertest.Draft("x").Key.ID()
	if err := app.Hint(c, "mcp", "execute")(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	want := []invoke{{"countersign-test-mcp", "Event", `{"countersign":"execute","invocation_id":"` + string(id) + `"}`}}
	if diff := cmp.Diff(want, e.invokes); diff != "" {
		t.Errorf("invokes (-want +got):\n%s", diff)
	}
	c.AWS = app.LocalAWS("http://127.0.0.1:1")
	c.AWS.RetryMaxAttempts = 1
	if err := app.Hint(c, "mcp", "execute")(t.Context(), id); err == nil || !strings.Contains(err.Error(), "countersign-test-mcp") {
		t.Errorf("err = %v, want the function named", err)
	}
}

// TestA3SubkeysAreDerived attacks A3.
func TestA3SubkeysAreDerived(t *testing.T) {
	t.Parallel()
	keys := func(root []byte) (ids, sessions []byte) {
		t.Helper()
		ids, sessions, err := app.GatewayKeys(t.Context(), one(base64.StdEncoding.EncodeToString(root)))
		if err != nil {
			t.Fatal(err)
		}
		return ids, sessions
	}
	root := bytes.Repeat([]byte{7}, 32)
	ids, sessions := keys(root)
	again, _ := keys(root)
	other, _ := keys(bytes.Repeat([]byte{8}, 32))
	switch {
	case len(ids) != 32 || len(sessions) != 32:
		t.Errorf("%d and %d bytes", len(ids), len(sessions))
	case bytes.Equal(ids, sessions) || bytes.Equal(ids, root) || bytes.Equal(sessions, root) || bytes.Equal(ids, other):
		t.Error("two keys are the same")
	case !bytes.Equal(ids, again):
		t.Error("the same root gives other ids after a restart")
	}
}

type one string

func (o one) Secret(context.Context, string) (secret.Value, error) { return secret.New(string(o)), nil }

func TestInitKeysMakesWhatIsMissingOnly(t *testing.T) {
	t.Parallel()
	e, c := newEndpoint(t)
	made, err := app.InitKeys(t.Context(), c, rand.Reader)
	if err != nil || len(made) != 4 {
		t.Fatalf("made %v, %v, want four parameters", made, err)
	}
	before := maps.Clone(e.parameters)
	if made, err := app.InitKeys(t.Context(), c, rand.Reader); err != nil || len(made) != 0 {
		t.Errorf("again: made %v, %v", made, err)
	}
	e.without("/countersign/test/link/active") // a crash before the last write
	if made, err := app.InitKeys(t.Context(), c, rand.Reader); err != nil || len(made) != 3 {
		t.Errorf("after a crash: made %v, %v, want a new link key", made, err)
	}
	for name, value := range before {
		if !strings.Contains(name, "link/active") && e.parameters[name] != value {
			t.Errorf("%s was replaced: links and ids made with it would be lost", name)
		}
	}
	if _, err := app.InitKeys(t.Context(), func() app.Config { _, c := newEndpoint(t); return c }(), bytes.NewReader(nil)); err == nil {
		t.Error("keys without randomness")
	}
}

// TestNoErrorHoldsTheValueThatWasStored: SSM quotes what it refuses.
func TestNoErrorHoldsTheValueThatWasStored(t *testing.T) {
	t.Parallel()
	e, c := newEndpoint(t)
	e.refuses = "1 validation error detected: Value 'VALUE' at 'value' failed to satisfy constraint"
	err := app.PutParameter(t.Context(), ssm.NewFromConfig(c.AWS), "/countersign/test/credentials/crm/token", "canary", types.ParameterTypeSecureString, true)
	if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "credentials/crm/token") {
		t.Errorf("err = %v", err)
	}
	e.refuses = "rate exceeded"
	err = app.PutParameter(t.Context(), ssm.NewFromConfig(c.AWS), "/countersign/test/vars/X", "canary", types.ParameterTypeSecureString, true)
	if err == nil || !strings.Contains(err.Error(), "rate exceeded") {
		t.Errorf("err = %v, want the reason", err)
	}
}

func TestCheckSortsAllProblemsTogether(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"connections/a.yml": {Data: []byte("url: https://a.example.test/mcp\napproval: ask\n")},
		"connections/z.yml": {Data: []byte("url: https://z.example.test/mcp\neffect: twice\n")},
		"countersign.yml":   {Data: []byte("approvers: 7\n")},
	}
	_, _, problems := app.Check(files)
	var places []string
	for _, p := range problems {
		places = append(places, fmt.Sprintf("%s:%d", p.File, p.Line))
	}
	if !slices.IsSorted(places) || len(places) != 3 {
		t.Errorf("places = %v, want three in order", places)
	}
	good := bundle()
	conns, settings, problems := app.Check(good)
	if len(conns) != 1 || len(settings.Approvers) != 1 || problems != nil {
		t.Errorf("a good folder: %v, %v, %v", conns, settings, problems)
	}
}

// TestNoStageNoFunction covers FromEnv, which alone reads the environment; it is not parallel for that.
func TestNoStageNoFunction(t *testing.T) {
	t.Setenv("COUNTERSIGN_STAGE", "")
	if _, err := app.FromEnv(t.Context()); err == nil || !strings.Contains(err.Error(), "COUNTERSIGN_STAGE") {
		t.Errorf("err = %v", err)
	}
	t.Setenv("COUNTERSIGN_STAGE", "prod")
	t.Setenv("COUNTERSIGN_TABLE", "calls")
	t.Setenv("LAMBDA_TASK_ROOT", t.TempDir())
	c, err := app.FromEnv(t.Context())
	if err != nil || c.Stage != "prod" || c.Table != "calls" || c.Prefix() != "/countersign/prod" || c.FunctionName("mcp") != "countersign-prod-mcp" {
		t.Errorf("config = %+v, %v", c, err)
	}
	if _, err := fs.ReadFile(c.Bundle, "catalog.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the bundle is not the task's folder: %v", err)
	}
}
