package conn

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/deployment"
	"github.com/countersign-mcp/countersign/internal/conn/diag"
	"github.com/countersign-mcp/countersign/internal/conn/show"
)

// Settings are what countersign.yml says for the whole deployment.
type Settings = deployment.Settings

// Approver is a person who may decide.
type Approver = deployment.Approver

// LoadSettings reads countersign.yml. It is as strict as the connection files' parser, and it returns no settings when there is
// a problem (C1).
func LoadSettings(fsys fs.FS, file string) (Settings, Problems) { return deployment.Load(fsys, file) }

// Together checks what the files say of each other: every approver that a connection names is an approver, and no rule asks for
// more approvals than there are approvers.
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
			hint := orElse(a, names, "countersign.yml names "+strings.Join(names, ", "))
			problems = append(problems, Problem{File: c.File, Rule: diag.RuleApproverUnknown, Hint: hint,
				Message: "approvers names " + show.Quote(a) + ", who is not an approver in countersign.yml"})
		}
		problems = append(problems, unreachable(c, names)...)
	}
	return problems.Sorted()
}

// unreachable reports the rules whose calls could only ever expire, because each approval is another person's.
func unreachable(c Connection, all []string) Problems {
	who, where := all, "countersign.yml has"
	if c.Approvers != nil {
		who, where = c.Approvers, "this connection has"
	}
	var problems Problems
	for i, r := range c.Rules {
		if r.Approvals > len(who) {
			problems = append(problems, Problem{File: c.File, Line: r.Line, Column: r.Column, Rule: diag.RuleApprovalsReach,
				Message: fmt.Sprintf("approval.rules[%d] needs the approvals of %d people, and %s %d", i, r.Approvals, where, len(who)),
				Hint:    "name more approvers, or ask for fewer"})
		}
	}
	return problems
}
