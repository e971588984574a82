package deployment_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn/deployment"
	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/google/go-cmp/cmp"
)

func load(src string) (deployment.Settings, diag.Problems) {
	return deployment.Load(fstest.MapFS{"countersign.yml": &fstest.MapFile{Data: []byte(src)}}, "countersign.yml")
}

func TestSettingsNameTheApprovers(t *testing.T) {
	t.Parallel()
	got, problems := load("approvers:\n  - name: ana\n  - {name: ops@example.com, channel: console}\n")
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	want := deployment.Settings{Approvers: []deployment.Approver{{Name: "ana", Channel: "console"}, {Name: "ops@example.com", Channel: "console"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LoadSettings (-want +got):\n%s", diff)
	}
}

func TestSettingsBoundWhatIsKept(t *testing.T) {
	t.Parallel()
	got, problems := load("approvers: [{name: ana}]\nlimits: {once_ttl: 1h30m}\nretention: 90d\n")
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	if got.Limits.OnceTTL != 90*time.Minute || got.Retention != 90*24*time.Hour {
		t.Errorf("Load = %+v", got)
	}
}

func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	const ana = "approvers: [{name: ana}]\n"
	for _, row := range []struct{ name, src, want string }{
		{"nothing at all", "", "1:1 settings-approvers"},
		{"only a comment", "# to do\n", "1:1 settings-approvers"},
		{"only a document start", "---\n", "1:1 settings-approvers"},
		{"no approvers", "{}\n", "1:1 settings-approvers"},
		{"approvers without a value", "approvers:\n", "1:11 value-empty"},
		{"an approver as mere text", "approvers: [ana]\n", "1:13 value-type"},
		{"an approver without a name", "approvers: [{channel: console}]\n", "1:13 settings-approvers"},
		{"an approver with a space in the name", "approvers: [{name: the boss}]\n", "1:20 settings-approvers"},
		{"an approver twice", "approvers: [{name: ana}, {name: ana}]\n", "1:26 settings-approvers"},
		{"an approver twice, once in capitals", "approvers: [{name: ana}, {name: ANA}]\n", "1:26 settings-approvers"},
		{"a misspelt key", "aprovers: [{name: ana}]\n", "1:1 unknown-key"},
		{"a misspelt key of an approver", "approvers: [{nam: ana}]\n", "1:14 unknown-key"},
		{"a list", "- ana\n", "1:1 not-mapping"},
		{"a second document", "approvers: [{name: ana}]\n---\napprovers: [{name: eve}]\n", "2:1 second-document"},
		{"an alias", "approvers: [&a {name: ana}, *a]\n", "1:13 yaml-anchor"},
		{"a tab", "approvers:\n\t- {name: ana}\n", "2:1 tab-indent"},
		{"a channel in capitals", "approvers: [{name: ana, channel: Console}]\n", "1:34 settings-channel"},
		{"limits as text", ana + "limits: 24h\n", "2:9 value-type"},
		{"limits without a value", ana + "limits:\n", "2:8 value-empty"},
		{"a misspelt limit", ana + "limits: {once_tll: 1h}\n", "2:10 unknown-key"},
		{"a limit of a later version", ana + "limits: {link_ttl: 1h}\n", "2:10 unsupported-field"},
		{"a key of a later version", ana + "endpoint: {auth: iam}\n", "2:1 unsupported-field"},
		{"a memory that is too short", ana + "limits: {once_ttl: 59s}\n", "2:20 settings-limit"},
		{"a memory that is too long", ana + "limits: {once_ttl: 31d}\n", "2:20 settings-limit"},
		{"a retention below the idempotency window", ana + "retention: 29d23h59m59s\n", "2:12 settings-limit"},
		{"a retention without its unit", ana + "retention: 90\n", "2:12 settings-limit"},
		{"a hidden character in a name", "approvers: [{name: \"a\\u200bna\"}]\n", "1:20 hidden-character"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			settings, problems := load(row.src)
			if settings.Approvers != nil || len(problems) == 0 {
				t.Fatalf("LoadSettings = %+v, %v; want no settings (C1) and problems", settings, problems)
			}
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Rule))
			}
			if !slices.Contains(got, row.want) {
				t.Errorf("no problem %s:\n%v", row.want, problems)
			}
		})
	}
}

func TestMissingSettingsSayWhatToWrite(t *testing.T) {
	t.Parallel()
	_, problems := deployment.Load(fstest.MapFS{}, "countersign.yml")
	const want = "countersign.yml: the file is missing; name at least one approver: approvers: [{name: ana}] [file-unreadable]"
	if got := problems.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
