package deployment

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"github.com/countersign-mcp/countersign/internal/conn/yamldoc"
	"go.yaml.in/yaml/v3"
)

// Settings are what countersign.yml says for the whole deployment.
type Settings struct {
	Approvers []Approver    // at least one
	Limits    Limits        // the zero value of each: its default
	Retention time.Duration // how long a call is kept after its end, 30d to 3650d; 0: 30 days
}

// Approver is a person who may decide.
type Approver struct {
	Name    string // unique; connection files refer to it, and the history records it
	Channel string // how cards reach the person; default "console"
}

// Limits bound what a decision allows.
type Limits struct {
	OnceTTL time.Duration // how long an approval under `once` is remembered, 1m to 30d; 0: 24 hours
}

// field is one key of countersign.yml.
type field struct {
	name, doc string
	rules     []diag.Rule
	parse     func(*yamldoc.Reader, *yaml.Node, *Settings)
}

// MinRetention is how long an idempotency key is promised to be known, counted from the end of its call.
const MinRetention = 30 * 24 * time.Hour

func fields() []field {
	return []field{
		{"approvers", "the people who may decide, each with a name and a channel; required",
			[]diag.Rule{diag.RuleSettingsApprovers, diag.RuleSettingsChannel, diag.RuleApproverUnknown}, parseApprovers},
		{"limits", "`once_ttl`: how long an approval under `once` is remembered, 1m to 30d; default 24h",
			[]diag.Rule{diag.RuleSettingsLimit}, parseLimits},
		{"retention", "how long a call is kept after its end, 30d to 3650d; default 30d",
			nil, parseRetention},
	}
}

// unsupported are keys of the format that this version does not read. They are told apart from misspelt ones, because the cure is
// another: the key is right, and ignoring it would promise what nobody keeps (S2).
func unsupported() []string { return []string{"endpoint", "identity"} }

// unsupportedLimits are their counterparts below limits.
func unsupportedLimits() []string { return []string{"link_ttl"} }

// Rules returns the rules that only countersign.yml can break, in the order of its keys.
func Rules() []diag.Rule {
	var rules []diag.Rule
	for _, f := range fields() {
		rules = append(rules, f.rules...)
	}
	return rules
}

// Keys returns what each key sets, in the order of the reference.
func Keys() [][2]string {
	var keys [][2]string
	for _, f := range fields() {
		keys = append(keys, [2]string{f.name, f.doc})
	}
	return keys
}

// Load reads countersign.yml. It is as strict as the connection files' parser, and it returns no settings when there is a
// problem (S1).
func Load(fsys fs.FS, file string) (Settings, diag.Problems) {
	src, err := yamldoc.ReadFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, diag.Problems{{File: file, Rule: diag.RuleFileUnreadable, Message: "the file is missing",
			Hint: "name at least one approver: approvers: [{name: ana}]"}}
	}
	if err != nil {
		return Settings{}, diag.Problems{yamldoc.Unreadable(file, "the file", err)}
	}
	r := yamldoc.New(file, yamldoc.Kind{
		Name: "countersign.yml", Example: "approvers:", Empty: noApprovers, EmptyHint: addApprovers, EmptyRule: diag.RuleSettingsApprovers,
		SecondHint: "delete it, or put its keys above",
	})
	var s Settings
	if root := r.Document(src); root != nil {
		read(r, root, &s)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return Settings{}, problems
	}
	return s, nil
}

func read(r *yamldoc.Reader, root *yaml.Node, s *Settings) {
	var known []string
	for _, f := range fields() {
		known = append(known, f.name)
	}
	values := map[string]*yaml.Node{}
	for k, v := range yamldoc.Pairs(root) {
		switch {
		case slices.Contains(known, k.Value):
			values[k.Value] = v
		case slices.Contains(unsupported(), k.Value):
			r.Report(k, diag.RuleUnsupportedField, "%s is not supported by this version", k.Value)
		default:
			r.UnknownKey(k, "a key of countersign.yml", known)
		}
	}
	for _, f := range fields() {
		if v := values[f.name]; v != nil {
			f.parse(r, v, s)
		}
	}
	if values["approvers"] == nil {
		r.ReportHint(root, diag.RuleSettingsApprovers, addApprovers, noApprovers)
	}
}

const (
	noApprovers  = "nobody is named who may decide: a gated call would wait for no one"
	addApprovers = "add approvers: [{name: ana}]"
)

var approverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// IsApproverName reports whether an approver may be called this.
func IsApproverName(name string) bool { return approverName.MatchString(name) }

// NameHint says so to a person.
const NameHint = "names have letters, digits and . _ @ + -, at most 64"

func parseApprovers(r *yamldoc.Reader, n *yaml.Node, s *Settings) {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.ReportHint(n, diag.RuleSettingsApprovers, addApprovers, noApprovers)
		return
	}
	entries, ok := r.List(n, "approvers", diag.RuleSettingsApprovers)
	if !ok {
		return
	}
	seen := map[string]string{} // as it was written first, by its small letters
	for _, entry := range entries {
		a, ok := approver(r, entry)
		switch {
		case !ok:
		case seen[strings.ToLower(a.Name)] == a.Name:
			r.Report(entry, diag.RuleSettingsApprovers, "approvers names %s twice", show.Quote(a.Name))
		case seen[strings.ToLower(a.Name)] != "":
			// One person under two names could give both of two approvals, or the one of a call that the other made.
			r.ReportHint(entry, diag.RuleSettingsApprovers, "give each person one name", "approvers names %s and %s, which differ only in the case of letters",
				show.Quote(seen[strings.ToLower(a.Name)]), show.Quote(a.Name))
		default:
			seen[strings.ToLower(a.Name)] = a.Name
			s.Approvers = append(s.Approvers, a)
		}
	}
}

func approver(r *yamldoc.Reader, n *yaml.Node) (Approver, bool) {
	values, ok := r.Mapping(n, "an approver", []string{"name", "channel"})
	if !ok {
		return Approver{}, false
	}
	a := Approver{Channel: "console"}
	name := values["name"]
	if name == nil {
		r.ReportHint(n, diag.RuleSettingsApprovers, "add name: ana", "an approver has no name")
		return a, false
	}
	if a.Name, ok = r.Text(name, "name"); !ok {
		return a, false
	}
	if !IsApproverName(a.Name) {
		r.ReportHint(name, diag.RuleSettingsApprovers, NameHint, "name must be an approver's name, not %s", show.Quote(a.Name))
		return a, false
	}
	if channel := values["channel"]; channel != nil {
		if a.Channel, ok = r.OneOf(channel, "channel", diag.RuleSettingsChannel, "console"); !ok {
			return a, false
		}
	}
	return a, true
}

func parseLimits(r *yamldoc.Reader, n *yaml.Node, s *Settings) {
	for k := range yamldoc.Pairs(n) {
		if slices.Contains(unsupportedLimits(), k.Value) {
			r.Report(k, diag.RuleUnsupportedField, "limits.%s is not supported by this version", k.Value)
			return
		}
	}
	values, ok := r.Mapping(n, "limits", []string{"once_ttl"})
	if !ok {
		return
	}
	if v := values["once_ttl"]; v != nil {
		s.Limits.OnceTTL, _ = r.Duration(v, "limits.once_ttl", diag.RuleSettingsLimit,
			yamldoc.Span{Shortest: time.Minute, Longest: 30 * 24 * time.Hour, Words: "from 1m to 30d"})
	}
}

// parseRetention accepts nothing below the window in which a repeated call is promised to be recognised (S3).
func parseRetention(r *yamldoc.Reader, n *yaml.Node, s *Settings) {
	s.Retention, _ = r.Duration(n, "retention", diag.RuleSettingsLimit,
		yamldoc.Span{Shortest: MinRetention, Longest: 3650 * 24 * time.Hour, Words: "from 30d, for which idempotency keys are known, to 3650d"})
}
