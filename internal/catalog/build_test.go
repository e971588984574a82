package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// K1, K2: whatever is wrong, in all connections at once, each with its place and cure.
func TestAllProblemsOfAllConnectionsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	listed := connection("listed")
	listed.Tools = []string{"serach", "search"}
	locked := connection("locked")
	locked.Auth = &conn.Auth{Type: "bearer", Credential: "locked.token"}
	all := servers{
		"down":   {err: errors.New("down: nothing listens at 127.0.0.1:3001 (is the server running?)")},
		"empty":  {},
		"listed": raw(tool("search"), `{"name":"broken","inputSchema":7}`),
		"locked": raw(tool("t")),
		"odd":    raw(`{"name":"a","inputSchema":{"type":"string"}}`, `{"name":"b"}`, `{"inputSchema":{"type":"object"}}`, `[]`, tool("查询"), `{"name":"e","description":"x\u001b[2J","inputSchema":{"type":"object"}}`),
	}
	got := problems(t, all, connection("odd"), connection("down"), connection("empty"), listed, locked)
	want := []struct{ connection, tool, message string }{
		{"down", "", "nothing listens at 127.0.0.1:3001 (is the server running?); mark it optional: true"},
		{"empty", "", "the server lists no tools"},
		{"listed", "serach", `did you mean "search"?`},
		{"locked", "", "connections/locked.yml: needs credentials/locked/token: "},
		{"odd", "a", `must be an object schema ("type": "object")`},
		{"odd", "b", "it has no inputSchema"},
		{"odd", "e", "its description holds a control character (U+001B)"},
		{"odd", "number 3", "it has no name"},
		{"odd", "number 4", "not an object"},
		{"odd", "查询", "no letter or digit of its name"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%v", len(got), len(want), &catalog.BuildError{Problems: got})
	}
	for i, w := range want {
		if got[i].Connection != w.connection || got[i].Tool != w.tool {
			t.Errorf("problem %d is of %s %q, want %s %q", i, got[i].Connection, got[i].Tool, w.connection, w.tool)
		}
		mentions(t, got[i].String(), w.message)
		if after, ok := strings.CutPrefix(got[i].String(), "connections/"+w.connection+".yml: "); !ok || strings.HasPrefix(after, w.connection) {
			t.Errorf("problem %d does not begin with the file alone: %q", i, got[i])
		}
		if strings.Contains(got[i].String(), "\n") {
			t.Errorf("problem %d is not one line: %q", i, got[i])
		}
	}
}

// K2: an optional connection that cannot be asked is left out with the reason; nothing else is excused.
func TestAnOptionalConnectionIsLeftOutWithItsReason(t *testing.T) {
	t.Parallel()
	down, empty, slow := connection("down"), connection("empty"), connection("slow")
	down.Optional, empty.Optional, slow.Optional = true, true, true
	s := servers{"crm": raw(tool("t")), "down": {err: errors.New("down: nothing listens at x")}, "empty": {}, "slow": {hang: true}}
	cat, err := catalog.Build(t.Context(), []conn.Connection{connection("crm"), down, empty, slow},
		catalog.Options{Discover: s, Secrets: noSecrets{}, Deadline: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"crm__t"}, served(cat)); diff != "" {
		t.Error(diff)
	}
	mentions(t, cat.LeftOut["down"], "nothing listens at x")
	mentions(t, cat.LeftOut["empty"], "lists no tools")
	mentions(t, cat.LeftOut["slow"], "no complete answer within 50ms")
	if len(cat.LeftOut) != 3 || len(cat.Servers) != 1 {
		t.Errorf("left out %v, servers %v", cat.LeftOut, cat.Servers)
	}
	broken := connection("broken")
	broken.Optional = true
	problems(t, servers{"broken": raw(`{"name":"a","inputSchema":7}`)}, broken)
}

// K1: a tool that the file does not list is not judged, so listing the others cures everything but an outage.
func TestTheToolsListIsTheCure(t *testing.T) {
	t.Parallel()
	c := connection("crm")
	c.Tools = []string{"good"}
	s := servers{"crm": raw(tool("good"), `{"name":"bad","inputSchema":7}`, tool("twice"), tool("twice"), tool("查询"))}
	if diff := cmp.Diff([]string{"crm__good"}, served(mustBuild(t, s, c))); diff != "" {
		t.Error(diff)
	}
}

func TestNamesAreSafeStableAndUnique(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tools   []string
		want    []string
		problem string
	}{
		"dots and slashes become underscores": {tools: []string{"a.b/c"}, want: []string{"crm__a_b_c"}},
		"two that become one":                 {tools: []string{"a.b", "a_b"}, problem: `tool "a_b": it and the tool "a.b" would both be served as crm__a_b; write rename: {a_b: a_b_2}`},
		"letters that differ in case":         {tools: []string{"getUser", "getuser"}, want: []string{"crm__getUser", "crm__getuser"}},
		"64 characters":                       {tools: []string{strings.Repeat("n", 59)}, want: []string{"crm__" + strings.Repeat("n", 59)}},
		"65 characters":                       {tools: []string{strings.Repeat("n", 60)}, problem: "has 65 characters, and clients accept at most 64; write rename: {nnn"},
		"the same one twice":                  {tools: []string{"run", "run"}, problem: "lists it twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s server
			for _, n := range c.tools {
				s.tools = append(s.tools, json.RawMessage(tool(n)))
			}
			if c.problem != "" {
				got := problems(t, servers{"crm": s}, connection("crm"))
				if len(got) != 1 {
					t.Fatalf("got %d problems, want 1", len(got))
				}
				mentions(t, got[0].String(), "crm", c.problem)
				return
			}
			cat := mustBuild(t, servers{"crm": s}, connection("crm"))
			if diff := cmp.Diff(c.want, served(cat)); diff != "" {
				t.Error(diff)
			}
			for _, want := range c.want {
				if tl, ok := cat.Find(want); !ok || tl.Name != want {
					t.Errorf("Find(%q) = %v, %v", want, tl, ok)
				}
			}
			if _, ok := cat.Find(strings.ToUpper(c.want[0])); ok {
				t.Error("Find folds case")
			}
		})
	}
}

// K4: an output schema describes the result, and a call that can wait answers something else first.
func TestOutputSchemaIsServedOnlyWhereTheAnswerIsTheResult(t *testing.T) {
	t.Parallel()
	s := servers{"crm": raw(`{"name":"t","outputSchema":{"type":"object"},"inputSchema":{"type":"object"}}`)}
	for name, c := range map[string]struct {
		approval conn.Approval
		timeout  time.Duration
		want     bool
	}{
		"never":                        {conn.Never, time.Minute, true},
		"once":                         {conn.Once, time.Minute, false},
		"always":                       {conn.Always, time.Minute, false},
		"never, but in the background": {conn.Never, 2 * time.Minute, false},
	} {
		one := connection("crm")
		one.Approval, one.Timeout = c.approval, c.timeout
		tl := mustBuild(t, s, one).Tools[0]
		if got := bytes.Contains(tl.Served, []byte("outputSchema")); got != c.want {
			t.Errorf("%s: output schema served: %v, want %v", name, got, c.want)
		}
		if !bytes.Contains(tl.Raw, []byte("outputSchema")) {
			t.Errorf("%s: the raw definition lost its output schema", name)
		}
	}
}

// K6, and bytes that an encoder would change.
func TestEncodeIsStableAndDecodeGivesBackWhatWasEncoded(t *testing.T) {
	t.Parallel()
	s := servers{
		"crm":  raw(`{ "name":"t" , "description":"<a> & \u2028 \u00e9 / \/", "inputSchema":{"type":"object","default":9007199254740993,"maximum":1.0e3}}`, tool("a")),
		"docs": raw(tool("z")),
	}
	first := mustBuild(t, s, connection("docs"), connection("crm"))
	second := mustBuild(t, s, connection("crm"), connection("docs"))
	one, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	two, err := second.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Errorf("two builds of the same differ\n%s\n%s", one, two)
	}
	back, err := catalog.Decode(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range first.Tools {
		got, ok := back.Find(want.Name)
		if !ok {
			t.Fatalf("%s is gone", want.Name)
		}
		if diff := cmp.Diff([]string{string(want.Raw), string(want.Served), string(want.Input), want.Digest, want.Upstream, want.Connection},
			[]string{string(got.Raw), string(got.Served), string(got.Input), got.Digest, got.Upstream, got.Connection}); diff != "" {
			t.Errorf("%s (-encoded +decoded)\n%s", want.Name, diff)
		}
	}
	mentions(t, string(one), `<a> & \u2028 \u00e9 / \/`, `"maximum":1.0e3`)
	for name, bad := range map[string]string{
		"no JSON":       `{`,
		"half a tool":   `{"servers":{},"tools":[{"name":"crm__t"}]}`,
		"a tool twice":  `{"tools":[{"name":"a__t","connection":"a","upstream":"t","raw":{},"served":{},"input":{}},{"name":"a__t","connection":"a","upstream":"t","raw":{},"served":{},"input":{}}]}`,
		"nothing there": `{"tools":[null]}`,
	} {
		if _, err := catalog.Decode([]byte(bad)); err == nil {
			t.Errorf("%s was decoded", name)
		}
	}
}

func TestWarningsAreForTheOperatorOnly(t *testing.T) {
	t.Parallel()
	s := servers{"crm": raw(tool(strings.Repeat("n", 41)), `{"name":"t","description":"`+strings.Repeat("x", 2049)+`","inputSchema":{"type":"object"}}`, tool("T"))}
	cat := mustBuild(t, s, connection("crm"))
	mentions(t, strings.Join(cat.Warnings, "\n"), "has 46 characters", "has 2049 characters", "crm__t and crm__T differ only in the case of letters")
}

// What a reviewer cannot see, a model can read.
func TestHiddenCharactersAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want string // empty: served
	}{
		"a tag character":         {"x\U000E0041", "tag character"},
		"a bidirectional control": {"x\u202e", "direction"},
		"a zero-width space":      {"x\u200b", "invisible"},
		"an escape":               {"x\x1b[2J", "control character"},
		"an emoji with a joiner":  {"👩\u200d💻 naïve 日本語\n\ttabbed", ""},
	} {
		for _, member := range []string{"description", "title"} {
			definition, err := json.Marshal(map[string]any{"name": "t", member: c.text, "inputSchema": map[string]any{"type": "object"}})
			if err != nil {
				t.Fatal(err)
			}
			s := servers{"crm": {tools: []json.RawMessage{definition}}}
			if c.want == "" {
				mustBuild(t, s, connection("crm"))
				continue
			}
			got := problems(t, s, connection("crm"))
			mentions(t, got[0].String(), `tool "t"`, member, c.want)
			if strings.ContainsAny(got[0].String(), c.text[1:]) && name != "an escape" {
				t.Errorf("%s: the problem repeats it: %q", name, got[0])
			}
		}
	}
}

// Each value that is missing is a problem of its own.
func TestMissingValuesAreOneProblemEach(t *testing.T) {
	t.Parallel()
	c := connection("crm")
	c.URL = "https://${CRM_HOST}/mcp"
	c.Auth = &conn.Auth{Type: "bearer", Credential: "crm.token"}
	c.Optional = true // excuses a server, not a file
	got := problems(t, servers{"crm": raw(tool("t"))}, c)
	if len(got) != 2 {
		t.Fatalf("got %v, want 2 problems", got)
	}
	mentions(t, got[0].String()+got[1].String(), "vars/CRM_HOST", "credentials/crm/token")
}

// K1: a rule for a tool that is not there would be a rule that nothing obeys.
func TestARuleForAToolThatIsNotServedStopsTheDeploy(t *testing.T) {
	t.Parallel()
	c := connection("crm")
	c.ReadOnly = []string{"serach", "gone", "broken"}
	c.VerifyWith = map[string]conn.Verification{"none": {Tool: "search"}}
	c.DedupeKey = conn.DedupeKeys{"creat_note": {"id"}, "search": {"q"}}
	got := problems(t, servers{"crm": raw(tool("search"), tool("create_note"), `{"name":"broken","inputSchema":7}`)}, c)
	want := [][]string{
		{"broken", "inputSchema"},
		{"creat_note", "dedupe_key: names it", `did you mean "create_note"?`},
		{"gone", "read_only: names it", "remove it from read_only:"},
		{"none", "verify_with: names it", "remove it from verify_with:"},
		{"serach", "read_only: names it", `did you mean "search"?`},
	}
	if len(got) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%v", len(got), len(want), &catalog.BuildError{Problems: got})
	}
	for i, w := range want {
		if got[i].Tool != w[0] {
			t.Errorf("problem %d is of %q, want %q", i, got[i].Tool, w[0])
		}
		mentions(t, got[i].String(), w[1:]...)
	}
}

func TestADedupeKeyOverAnArgumentThatTheSchemaDoesNotNameIsAWarning(t *testing.T) {
	t.Parallel()
	c := connection("crm")
	c.DedupeKey = conn.DedupeKeys{"t": {"order.id", "idd"}}
	cat := mustBuild(t, servers{"crm": withSchema(`{"type":"object","properties":{"id":{},"order":{"type":"object"}}}`)}, c)
	if len(cat.Warnings) != 1 {
		t.Fatalf("warnings = %q, want one", cat.Warnings)
	}
	mentions(t, cat.Warnings[0], "param.idd", "dedupe_key of t")
}

// K4: only what can never wait keeps its output form.
func TestTheOutputFormOfAToolThatReadsIsKept(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		approval conn.Approval
		timeout  time.Duration
		readOnly bool
		kept     bool
	}{
		"a read under once":             {conn.Once, time.Minute, true, true},
		"a write under once":            {conn.Once, time.Minute, false, false},
		"a read under always":           {conn.Always, time.Minute, true, false},
		"a read that the executor runs": {conn.Once, 2 * time.Minute, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connection("crm")
			c.Approval, c.Timeout = row.approval, row.timeout
			if row.readOnly {
				c.ReadOnly = []string{"t"}
			}
			cat := mustBuild(t, servers{"crm": raw(`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`)}, c)
			if got := strings.Contains(string(cat.Tools[0].Served), "outputSchema"); got != row.kept {
				t.Errorf("outputSchema is served: %v, want %v", got, row.kept)
			}
		})
	}
}
