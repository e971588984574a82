package interop_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const awaitTool = "countersign_await_decision"

// question is one call that the server answers the same way each time.
type question struct {
	name, tool, arguments string
	shows                 func(answer) error // what makes the answer worth comparing
}

var questions = []question{
	{"text", "echo", `{"message":"Grüße, 9007199254740993, \u2028 and \"quotes\""}`,
		wants("Echo: Grüße, 9007199254740993")},
	{"image", "get-tiny-image", `{}`, wantsContent("text", "image", "text")},
	{"structured content", "get-structured-content", `{"location":"Chicago"}`, func(a answer) error {
		if len(a.result().StructuredContent) == 0 {
			return fmt.Errorf("no structured content in %s", a.Result)
		}
		return nil
	}},
	{"embedded resource", "gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, wantsContent("resource")},
	{"resource links", "get-resource-links", `{"count":2}`, wantsContent("text", "resource_link", "resource_link")},
	{"annotations", "get-annotated-message", `{"messageType":"success","includeImage":true}`, wantsContent("text", "image")},
	{"error result", "get-resource-reference", `{"resourceType":"Text","resourceId":-1}`, func(a answer) error {
		if !a.result().IsError {
			return fmt.Errorf("isError is not set in %s", a.Result)
		}
		return nil
	}},
}

func wants(text string) func(answer) error {
	return func(a answer) error {
		if !strings.Contains(string(a.Result), text) {
			return fmt.Errorf("got %s, want it to contain %q", a.Result, text)
		}
		return nil
	}
}

func wantsContent(types ...string) func(answer) error {
	return func(a answer) error {
		var got []string
		for _, c := range a.result().Content {
			got = append(got, c.Type)
		}
		if !cmp.Equal(got, types) {
			return fmt.Errorf("content types %q, want %q", got, types)
		}
		return nil
	}
}

var servedName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// listing: every tool of the server is there under its namespaced name, otherwise as the server wrote it.
func (p *proof) listing(t *testing.T, c client) {
	var listed []tool
	p.check(t, "lists the await tool and only names that clients accept", func(t *testing.T) {
		listed = c.list(t)
		found := false
		for _, l := range listed {
			found = found || l.Name == awaitTool
			if !servedName.MatchString(l.Name) {
				t.Errorf("the name %q", l.Name)
			}
		}
		if !found {
			t.Errorf("no %s among %d tools", awaitTool, len(listed))
		}
	})
	p.check(t, "lists each tool as the server describes it", func(t *testing.T) {
		byName := make(map[string]tool)
		for _, l := range listed {
			byName[l.Name] = l
		}
		for _, want := range p.tools {
			got, ok := byName["everything__"+want.Name]
			if !ok {
				t.Errorf("everything__%s is not listed", want.Name)
				continue
			}
			for _, member := range []struct{ name, got, want string }{
				{"title", got.Title, want.Title},
				{"description", got.Description, want.Description},
				{"inputSchema", compact(got.InputSchema), compact(want.InputSchema)},
				{"outputSchema", compact(got.OutputSchema), compact(want.OutputSchema)},
				{"annotations", compact(got.Annotations), compact(want.Annotations)},
			} {
				if diff := cmp.Diff(member.want, member.got); diff != "" {
					t.Errorf("%s of %s (-server +gateway):\n%s", member.name, got.Name, diff)
				}
			}
		}
	})
	p.check(t, "lists only the allowed tools of the gated connection", func(t *testing.T) {
		got := 0
		for _, l := range listed {
			if strings.HasPrefix(l.Name, "gated__") {
				got++
			}
		}
		if got != 5 {
			t.Errorf("%d tools of the gated connection, want the 5 of connections/gated.yml", got)
		}
	})
}

// ungated: what comes through the gateway is what the server says, and each call reaches it once.
func (p *proof) ungated(t *testing.T, c client) {
	for _, q := range questions {
		p.check(t, q.name, func(t *testing.T) {
			before := p.server.relay.calls(q.tool)
			got := c.call(t, "everything__"+q.tool, q.arguments)
			if err := q.shows(got); err != nil {
				t.Fatal(err)
			}
			sameResult(t, p.direct[q.name], got)
			if sent := p.server.relay.calls(q.tool) - before; sent != 1 {
				t.Errorf("the server was called %d times, want once", sent)
			}
		})
	}
}

// refused: what cannot be right never reaches the server.
func (p *proof) refused(t *testing.T, c client) {
	for _, tt := range []struct{ name, tool, arguments string }{
		{"arguments that the schema refuses are not sent", "everything__echo", `{"message":7}`},
		{"a tool that does not exist is refused", "everything__no-such-tool", `{}`},
		{"a tool that the connection does not allow is refused", "gated__get-env", `{}`},
	} {
		p.check(t, tt.name, func(t *testing.T) {
			before := p.server.relay.total()
			got := c.call(t, tt.tool, tt.arguments)
			if got.Error == nil && !got.result().IsError {
				t.Errorf("got %s, want an error", got.Result)
			}
			if sent := p.server.relay.total() - before; sent != 0 {
				t.Errorf("the server was called %d times, want not at all", sent)
			}
		})
	}
}

// approved: a gated call waits, a person says yes, it runs once, and whoever asks gets the real result.
func (p *proof) approved(t *testing.T, c client, open func(*testing.T) client) {
	arguments := fmt.Sprintf(`{"message":"approved for %s"}`, t.Name())
	before := p.server.relay.calls("echo")
	sent := func() int { return p.server.relay.calls("echo") - before }

	var waiting parked
	p.check(t, "a gated call is parked", func(t *testing.T) {
		waiting = parkedIn(t, c.call(t, "gated__echo", arguments))
		if waiting.Status != "awaiting_approval" || waiting.ID == "" || waiting.ExpiresAt == "" || waiting.AwaitWith.Tool != awaitTool {
			t.Fatalf("got %+v, want it to await an approval and to name the await tool", waiting)
		}
	})
	if waiting.ID == "" {
		return
	}
	p.check(t, "the await tool answers at once that it still waits", func(t *testing.T) {
		if got := parkedIn(t, c.call(t, awaitTool, waiting.await())); got.Status != "awaiting_approval" || got.ID != waiting.ID {
			t.Errorf("got %+v", got)
		}
	})
	p.check(t, "the same call again joins the one that waits", func(t *testing.T) {
		if got := parkedIn(t, c.call(t, "gated__echo", arguments)); got.ID != waiting.ID {
			t.Errorf("got invocation %s, want %s again", got.ID, waiting.ID)
		}
		if n := sent(); n != 0 {
			t.Errorf("the server was called %d times before anybody approved", n)
		}
	})
	p.check(t, "approved by the link it runs once and the await tool has the result", func(t *testing.T) {
		p.gateway.decide(t, waiting.ID, "approve", "")
		got := p.settled(t, c, waiting)
		if err := wants("Echo: approved for " + c.owner())(got); err != nil {
			t.Error(err)
		}
		if n := sent(); n != 1 {
			t.Errorf("the server was called %d times, want once", n)
		}
	})
	p.check(t, "a new session gets the same result and nothing runs again", func(t *testing.T) {
		first := c.call(t, awaitTool, waiting.await())
		sameResult(t, first, open(t).call(t, awaitTool, waiting.await()))
		if n := sent(); n != 1 {
			t.Errorf("the server was called %d times, want once", n)
		}
	})
	p.check(t, "structured content comes back from a gated call", func(t *testing.T) {
		// The arguments are those of the direct call, so the clients before this one have asked the same: each asks anew
		// only once the last one was settled.
		waiting := parkedIn(t, c.call(t, "gated__get-structured-content", `{"location":"Chicago"}`))
		p.gateway.decide(t, waiting.ID, "approve", "")
		sameResult(t, p.direct["structured content"], p.settled(t, c, waiting))
	})
}

// declined: the reason reaches the caller as data, and nothing is sent.
func (p *proof) declined(t *testing.T, c client) {
	p.check(t, "declined with a reason it never runs", func(t *testing.T) {
		before := p.server.relay.total()
		waiting := parkedIn(t, c.call(t, "gated__get-sum", fmt.Sprintf(`{"a":1,"b":%d}`, len(t.Name()))))
		p.gateway.decide(t, waiting.ID, "decline", "not on a Friday")
		got := c.call(t, awaitTool, waiting.await())
		var body struct {
			Denied string `json:"denied"`
		}
		got.decode(t, &body)
		if body.Denied != "not on a Friday" {
			t.Errorf("got %s, want denied with the reason", got.Result)
		}
		if sent := p.server.relay.total() - before; sent != 0 {
			t.Errorf("the server was called %d times, want not at all", sent)
		}
	})
}

// stranger: without the right token nothing is listed, and the caller's token stays at the gateway.
func (p *proof) stranger(t *testing.T) {
	for name, token := range map[string]string{"no token": "", "a wrong token": "cst1.wrong"} {
		p.check(t, name+" is refused", func(t *testing.T) {
			got := runInspector(t, p.gateway.Endpoint, token, "legacy", "--method", "tools/list")
			if got.Error == nil {
				t.Errorf("got %s, want an error", got.Result)
			}
		})
	}
	p.check(t, "no Authorization header of a client travels to the server", func(t *testing.T) {
		if n := p.server.relay.authorized(); n != 0 {
			t.Errorf("%d requests to the server carried one", n)
		}
	})
}

// settled asks the await tool until it no longer says that the call waits or runs.
func (p *proof) settled(t *testing.T, c client, waiting parked) answer {
	t.Helper()
	for range 20 { // each answer waits up to 5 seconds by itself
		got := c.call(t, awaitTool, waiting.await())
		var now parked
		if !got.maybe(&now) || (now.Status != "awaiting_approval" && now.Status != "running") {
			return got
		}
	}
	t.Fatalf("invocation %s was approved and has no result after 20 looks", waiting.ID)
	return answer{}
}

// sameResult compares two results by what they say: the gateway may add members of its own beside them.
func sameResult(t *testing.T, want, got answer) {
	t.Helper()
	if want.Error != nil || got.Error != nil {
		t.Fatalf("errors: directly %v, through the gateway %v; want none", want.Error, got.Error)
	}
	w, g := want.result(), got.result()
	for _, member := range []struct {
		name      string
		want, got any
	}{
		{"content", compact(want.member("content")), compact(got.member("content"))},
		{"structuredContent", compact(w.StructuredContent), compact(g.StructuredContent)},
		{"isError", w.IsError, g.IsError},
	} {
		if diff := cmp.Diff(member.want, member.got); diff != "" {
			t.Errorf("%s (-server +gateway):\n%s", member.name, diff)
		}
	}
}

// compact is JSON with its object members in order, so that two clients' renderings of one value are equal.
func compact(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}
