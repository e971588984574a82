package gateway_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
)

const hiddenTools = "discoverable: true\n"

// names are the tools that tools/list shows.
func (w *world) names() []string {
	w.Helper()
	page, err := w.List(w.Context(), w.alice, gateway.ListRequest{})
	if err != nil {
		w.Fatal(err)
	}
	return namesIn(w.T, page.Tools)
}

func namesIn(t *testing.T, definitions json.RawMessage) []string {
	t.Helper()
	var tools []struct{ Name string }
	if err := json.Unmarshal(definitions, &tools); err != nil {
		t.Fatalf("%s: %v", definitions, err)
	}
	var all []string
	for _, tool := range tools {
		all = append(all, tool.Name)
	}
	return all
}

// found are the tools that search_tools answers; ok is false where the caller has no such tool.
func (w *world) found(query string) (names []string, ok bool) {
	w.Helper()
	r, err := w.Call(w.Context(), w.alice, gateway.CallRequest{Tool: gateway.SearchTool, Args: json.RawMessage(`{"limit":20,"query":"` + query + `"}`)})
	if fault.CodeOf(err) == fault.NotFound {
		return nil, false
	}
	if err != nil {
		w.Fatal(err)
	}
	var answer struct {
		StructuredContent struct{ Tools json.RawMessage }
	}
	if err := json.Unmarshal(r.Result, &answer); err != nil {
		w.Fatal(err)
	}
	return namesIn(w.T, answer.StructuredContent.Tools), true
}

// B1: a discoverable tool is found with the definition that a list would show, and is called through call_tool or by its name.
func TestADiscoverableToolIsFoundAndCalledAndNotListed(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": hiddenTools, "open": ""})
	want := []string{"open__list", "open__send", "open__undo", gateway.SearchTool, gateway.CallTool, gateway.AwaitTool}
	if diff := cmp.Diff(want, w.names()); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	names, _ := w.found("does send")
	if !slices.Contains(names, "crm__send") || slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "crm__") }) {
		t.Errorf("found %v, want tools of crm alone", names)
	}
	r, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: gateway.SearchTool, Args: json.RawMessage(`{"query":"send","limit":1}`)})
	tool, _ := w.config.Catalog.Find("crm__send")
	if err != nil || !strings.Contains(string(r.Result), `"structuredContent":{"tools":[`+string(tool.Served)+`],`) {
		t.Errorf("search answers %s, %v; want the definition as it is served", r.Result, err)
	}
	w.wantStatus(w.call("crm__send", big), gateway.StatusDone)
	w.wantStatus(w.call(gateway.CallTool, `{"name":"crm__send","arguments":`+big+`}`), gateway.StatusDone)
	w.wantStatus(w.call(gateway.CallTool, `{"name":"open__send"}`), gateway.StatusDone)
	w.wantSent(3)
	if got := string(w.remote.sent[1].Args); got != big {
		t.Errorf("through call_tool the server got %s, want the bytes as received: %s", got, big)
	}
}

// B2: what is found out about a call, and what it repeats, does not depend on the way it came.
func TestACallThroughCallToolIsTheDirectCall(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"pay": hiddenTools + "approval: always\n", "free": hiddenTools})
	direct := w.call("pay__send", `{"to":"x"}`)
	w.wantStatus(direct, gateway.StatusAwaiting)
	if through := w.call(gateway.CallTool, `{"name":"pay__send","arguments":{"to":"x"}}`); through.ID != direct.ID {
		t.Error("the same call through call_tool is another call")
	}
	key := func(tool, args, meta string) gateway.CallRequest {
		return gateway.CallRequest{Tool: tool, Args: json.RawMessage(args), Meta: json.RawMessage(meta), IdempotencyKey: "k"}
	}
	first, err := w.Call(t.Context(), w.alice, key(gateway.CallTool, `{"name":"free__send","arguments":{"to":"x"}}`, `{"trace":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(w.remote.sent[0].Meta); got != `{"trace":1}` {
		t.Errorf("_meta = %s", got)
	}
	again, err := w.Call(t.Context(), w.alice, key("free__send", `{"to":"x"}`, `{}`))
	if err != nil || again.ID != first.ID {
		t.Errorf("the retry by name is %s, %v; want %s", again.ID, err, first.ID)
	}
	w.wantSent(1)
	for name, args := range map[string]string{
		"arguments that do not fit the inner schema": `{"name":"free__send","arguments":{"amount":"a"}}`,
		"arguments that are no object":               `{"name":"free__send","arguments":[1]}`,
		"no name":                                    `{"arguments":{}}`,
		"a member that is not known":                 `{"name":"free__send","args":{}}`,
		"a name that differs in case":                `{"Name":"free__send"}`,
		"a tool that is not there":                   `{"name":"free__gone"}`,
		"itself":                                     `{"name":"call_tool","arguments":{"name":"free__send"}}`,
		"the await tool":                             `{"name":"countersign_await_decision","arguments":{"invocation_id":"` + string(direct.ID) + `"}}`,
		"the search":                                 `{"name":"search_tools","arguments":{"query":"x"}}`,
	} {
		_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: gateway.CallTool, Args: json.RawMessage(args)})
		if fault.CodeOf(err) != fault.Invalid || fault.DataOf(err)["arguments"] != true {
			t.Errorf("%s: %v, want arguments that the model can correct", name, err)
		}
	}
	w.wantSent(1)
}

func TestWhatSearchToolsIsAskedMustBeAQuestion(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": hiddenTools})
	for name, args := range map[string]string{
		"nothing": ``, "no query": `{}`, "an empty query": `{"query":" "}`, "no text": `{"query":7}`, "a limit of none": `{"query":"x","limit":0}`,
		"a limit over 20": `{"query":"x","limit":21}`, "half a tool": `{"query":"x","limit":1.5}`, "another member": `{"query":"x","k":3}`,
	} {
		_, err := w.Call(t.Context(), w.alice, gateway.CallRequest{Tool: gateway.SearchTool, Args: json.RawMessage(args)})
		if fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, ok := w.found("zzzz qqqq"); !ok || len(names) != 0 {
		t.Errorf("a question about nothing finds %v", names)
	}
}

// P3: one filter guards every way to a tool. What a caller may not call it does not see, does not find and does not reach, and what
// became of a call that it could make once it may still ask.
func TestOneFilterGuardsEveryWayToATool(t *testing.T) {
	t.Parallel()
	const file = "approval: always\ntools: [{send: context.role == 'admin'}, list]\n"
	for name, c := range map[string]struct {
		scopes identity.Scopes
		facts  string
		scope  bool // the answer names a scope
	}{
		"the scope is missing":                        {identity.Scopes{"call:crm/list", "call:free/list"}, `{"role":"admin"}`, true},
		"the condition is false":                      {identity.Scopes{"call:*"}, `{"role":"viewer"}`, false},
		"what the condition reads is missing":         {identity.Scopes{"call:*"}, `{}`, false},
		"what the condition reads is null":            {identity.Scopes{"call:*"}, `{"role":null}`, false},
		"what the condition reads is of another type": {identity.Scopes{"call:*"}, `{"role":["admin"]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := served(t, map[string]string{"crm": hiddenTools + file, "free": strings.Replace(file, "always", "never", 1)})
			w.knows(`{"role":"admin"}`)
			waits := w.call("crm__send", `{"to":"1"}`)
			if names, _ := w.found("send"); !slices.Contains(names, "crm__send") || !slices.Contains(w.names(), "free__send") {
				t.Fatalf("before: found %v, listed %v", names, w.names())
			}

			w.alice.Scopes = c.scopes
			w.knows(c.facts)
			if got := w.names(); slices.Contains(got, "free__send") || slices.Contains(got, "crm__send") {
				t.Errorf("list shows %v", got)
			}
			if names, _ := w.found("send"); slices.Contains(names, "crm__send") || slices.Contains(names, "free__send") {
				t.Errorf("search finds %v", names)
			}
			if _, ok := w.Definition(w.alice, "crm__send"); ok {
				t.Error("its definition is given out")
			}
			for _, tool := range []string{"crm__send", "free__send"} {
				for way, r := range map[string]gateway.CallRequest{
					"call":                  {Tool: tool, Args: json.RawMessage(`{"to":"2"}`)},
					"call with a key":       {Tool: tool, Args: json.RawMessage(`{"to":"2"}`), IdempotencyKey: "k"},
					"call_tool":             {Tool: gateway.CallTool, Args: json.RawMessage(`{"name":"` + tool + `","arguments":{"to":"2"}}`)},
					"call of what waits":    {Tool: tool, Args: json.RawMessage(`{"to":"1"}`)},
					"call with another way": {Tool: tool, Args: json.RawMessage(`{"amount":"not even arguments"}`)},
				} {
					_, err := w.Call(t.Context(), w.alice, r)
					if fault.CodeOf(err) != fault.Forbidden {
						t.Errorf("%s of %s: %v, want forbidden", way, tool, err)
					}
					if _, named := fault.DataOf(err)["scope"]; named != c.scope {
						t.Errorf("%s of %s: the scope is named: %v", way, tool, named)
					}
					if said := fault.MessageOf(err); strings.Contains(said, "admin") || strings.Contains(said, "context.role") {
						t.Errorf("%s of %s tells the condition: %v", way, tool, err)
					}
				}
			}
			w.wantStatus(w.await(waits.ID), gateway.StatusAwaiting) // its own call, whoever it is by now
			if _, err := w.decide(waits.ID, "ana", gateway.Approve, ""); err != nil {
				t.Fatal(err)
			}
			w.execute()
			w.wantStatus(w.await(waits.ID), gateway.StatusNotExecuted)
			w.wantSent(0)
		})
	}
}

// A caller who has nothing to find has no tools to find it with, and learns nothing by guessing at them.
func TestWithoutAnythingToFindThereIsNoSearch(t *testing.T) {
	t.Parallel()
	w := served(t, map[string]string{"crm": hiddenTools + "condition: context.role == 'admin'\n", "open": ""})
	w.knows(`{"role":"viewer"}`)
	if got := w.names(); slices.Contains(got, gateway.SearchTool) || slices.Contains(got, gateway.CallTool) {
		t.Errorf("listed: %v", got)
	}
	for _, r := range []gateway.CallRequest{
		{Tool: gateway.SearchTool, Args: json.RawMessage(`{"query":"send"}`)},
		{Tool: gateway.CallTool, Args: json.RawMessage(`{"name":"open__send"}`)},
		{Tool: gateway.CallTool, Args: json.RawMessage(`{"name":"crm__send"}`)},
	} {
		_, err := w.Call(t.Context(), w.alice, r)
		wantCode(t, err, fault.NotFound)
	}
	w.wantSent(0)
}
