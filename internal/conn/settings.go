package conn

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

// The rules about countersign.yml.
const (
	RuleSettingsApprovers Rule = "settings-approvers" // not a list of named approvers
	RuleSettingsChannel   Rule = "settings-channel"   // a channel that this version does not have
	RuleApproverUnknown   Rule = "approver-unknown"   // a connection names an approver that countersign.yml does not
)

func settingsRules() []Rule {
	return []Rule{RuleSettingsApprovers, RuleSettingsChannel, RuleApproverUnknown}
}

// Settings are what countersign.yml says for the whole deployment.
type Settings struct {
	Approvers []Approver // at least one
}

// Approver is a person who may decide.
type Approver struct {
	Name    string // unique; connection files refer to it, and the history records it
	Channel string // how cards reach the person; default "console"
}

// settingsKeys are the keys of countersign.yml, approverKeys those of one approver.
func settingsKeys() []string { return []string{"approvers"} }
func approverKeys() []string { return []string{"name", "channel"} }

// LoadSettings reads countersign.yml. It is as strict as the connection files' parser, and it returns no settings when there is
// a problem (C1).
func LoadSettings(fsys fs.FS, file string) (Settings, Problems) {
	src, err := readFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, Problems{{File: file, Rule: RuleFileUnreadable, Message: "the file is missing",
			Hint: "name at least one approver: approvers: [{name: ana}]"}}
	}
	if err != nil {
		return Settings{}, Problems{unreadable(file, "the file", err)}
	}
	p := &parser{file: file}
	var s Settings
	if p.checkSource(src) {
		p.settings(src, &s)
	}
	if len(p.problems) > 0 {
		return Settings{}, p.problems.sorted()
	}
	return s, nil
}

func (p *parser) settings(src []byte, s *Settings) {
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(src, []byte("\uFEFF"))))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		p.noApprovers(1, 1)
		return
	case err != nil:
		p.reportSyntax(src, err)
		return
	}
	p.checkEnd(src, decoder)
	root := document.Content[0]
	p.structure(root)
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		p.noApprovers(1, 1)
		return
	}
	values, ok := p.mapping(root, "countersign.yml", settingsKeys())
	if !ok {
		return
	}
	list := values["approvers"]
	if list == nil {
		p.noApprovers(root.Line, root.Column)
		return
	}
	if list.Kind == yaml.SequenceNode && len(list.Content) == 0 {
		p.noApprovers(list.Line, list.Column)
		return
	}
	entries, ok := p.list(list, "approvers", RuleSettingsApprovers)
	if !ok {
		return
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		a, ok := p.approver(entry)
		switch {
		case !ok:
		case seen[a.Name]:
			p.report(entry, RuleSettingsApprovers, "approvers names %s twice", show.Quote(a.Name))
		default:
			seen[a.Name] = true
			s.Approvers = append(s.Approvers, a)
		}
	}
}

func (p *parser) noApprovers(line, column int) {
	p.reportAt(line, column, RuleSettingsApprovers, "add approvers: [{name: ana}]", "nobody is named who may decide: a gated call would wait for no one")
}

func (p *parser) approver(n *yaml.Node) (Approver, bool) {
	values, ok := p.mapping(n, "an approver", approverKeys())
	if !ok {
		return Approver{}, false
	}
	a := Approver{Channel: "console"}
	name := values["name"]
	if name == nil {
		p.reportHint(n, RuleSettingsApprovers, "add name: ana", "an approver has no name")
		return a, false
	}
	if a.Name, ok = p.text(name, "name"); !ok {
		return a, false
	}
	if !approverName.MatchString(a.Name) {
		p.reportHint(name, RuleSettingsApprovers, "names have letters, digits and . _ @ + -, at most 64", "name must be an approver's name, not %s", show.Quote(a.Name))
		return a, false
	}
	if channel := values["channel"]; channel != nil {
		if a.Channel, ok = p.oneOf(channel, "channel", RuleSettingsChannel, "console"); !ok {
			return a, false
		}
	}
	return a, true
}

// Together checks what the files say of each other: every approver that a connection names is an approver.
func Together(conns []Connection, s Settings) Problems {
	if len(s.Approvers) == 0 {
		return nil // countersign.yml has a problem of its own
	}
	var names []string
	for _, a := range s.Approvers {
		names = append(names, a.Name)
	}
	var problems Problems
	for _, c := range conns {
		for _, a := range c.Approvers {
			if contains(names, a) {
				continue
			}
			hint := didYouMean(a, names)
			if hint == "" {
				hint = "countersign.yml names " + strings.Join(names, ", ")
			}
			problems = append(problems, Problem{File: c.File, Rule: RuleApproverUnknown, Hint: hint,
				Message: "approvers names " + show.Quote(a) + ", who is not an approver in countersign.yml"})
		}
	}
	return problems.sorted()
}
