package conn_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/google/go-cmp/cmp"
)

func loadSettings(src string) (conn.Settings, conn.Problems) {
	return conn.LoadSettings(fstest.MapFS{"countersign.yml": &fstest.MapFile{Data: []byte(src)}}, "countersign.yml")
}

func TestSettingsNameTheApprovers(t *testing.T) {
	t.Parallel()
	got, problems := loadSettings("approvers:\n  - name: ana\n  - {name: ops@example.com, channel: console}\n")
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	want := conn.Settings{Approvers: []conn.Approver{{Name: "ana", Channel: "console"}, {Name: "ops@example.com", Channel: "console"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LoadSettings (-want +got):\n%s", diff)
	}
}

func TestRefusedSettings(t *testing.T) {
	t.Parallel()
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
		{"a misspelt key", "aprovers: [{name: ana}]\n", "1:1 unknown-key"},
		{"a misspelt key of an approver", "approvers: [{nam: ana}]\n", "1:14 unknown-key"},
		{"a list", "- ana\n", "1:1 value-type"},
		{"a second document", "approvers: [{name: ana}]\n---\napprovers: [{name: eve}]\n", "2:1 second-document"},
		{"an alias", "approvers: [&a {name: ana}, *a]\n", "1:13 yaml-anchor"},
		{"a tab", "approvers:\n\t- {name: ana}\n", "2:1 tab-indent"},
		{"a hidden character in a name", "approvers: [{name: \"a\\u200bna\"}]\n", "1:20 hidden-character"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			settings, problems := loadSettings(row.src)
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
	_, problems := conn.LoadSettings(fstest.MapFS{}, "countersign.yml")
	const want = "countersign.yml: the file is missing; name at least one approver: approvers: [{name: ana}] [file-unreadable]"
	if got := problems.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTogetherFindsApproversThatNobodyIs(t *testing.T) {
	t.Parallel()
	settings := conn.Settings{Approvers: []conn.Approver{{Name: "ana"}, {Name: "ops"}}}
	connections := []conn.Connection{
		{File: "connections/a.yml", Approvers: []string{"ana", "ops"}},
		{File: "connections/b.yml", Approvers: []string{"eve", "opps"}},
		{File: "connections/c.yml"},
	}
	const want = `connections/b.yml: approvers names "eve", who is not an approver in countersign.yml; countersign.yml names ana, ops [approver-unknown]
connections/b.yml: approvers names "opps", who is not an approver in countersign.yml; did you mean "ops"? [approver-unknown]`
	if diff := cmp.Diff(want, conn.Together(connections, settings).Error()); diff != "" {
		t.Errorf("Together (-want +got):\n%s", diff)
	}
	if problems := conn.Together(connections, conn.Settings{}); problems != nil {
		t.Errorf("without settings, which are a problem of their own, Together = %v", problems)
	}
}
