package conn

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn/address"
	"github.com/countersign-mcp/countersign/internal/conn/show"
	"go.yaml.in/yaml/v3"
)

func parseURLField(p *parser, n *yaml.Node, c *Connection) {
	text, ok := p.text(n, "url")
	if !ok {
		return
	}
	segments, err := address.Split(text)
	if err != nil {
		p.reportHint(n, RuleURLVariable, "a variable is written ${NAME}", "url holds %s", err)
		return
	}
	// An inlined credential is a fault of the file only: the same text read from a variable is stored as a secret.
	if address.HoldsToken(text) {
		p.reportHint(n, RuleURLSecret, "store it as a secret and name its path under auth", "url holds what looks like a credential")
	}
	for _, f := range address.Check(address.Probe(segments)) {
		if f.Rule == address.HiddenCharacter {
			continue // structure reports it for every text
		}
		p.reportHint(n, Rule(f.Rule), f.Hint, "url %s", f.Message)
	}
	c.URL = text
}

func parseApproval(p *parser, n *yaml.Node, c *Connection) {
	if n.Kind == yaml.MappingNode {
		p.reportHint(n, RuleApprovalLongForm, "write approval: never, once or always",
			"the long form of approval is not supported by this version, only the scalar form")
		return
	}
	// A bare no, off or false is not never: whoever wrote it may have meant anything.
	value, ok := p.oneOf(n, "approval", RuleApprovalValue, string(Never), string(Once), string(Always))
	if ok {
		c.Approval = Approval(value)
	}
}

func parseEffect(p *parser, n *yaml.Node, c *Connection) {
	c.Effect = "" // so that rules about the effect stay silent when it is not known
	if n.Kind == yaml.ScalarNode && fold(n.Value) == "transactional" {
		p.reportHint(n, RuleEffectTransaction,
			"use idempotent where the server recognises a repeated call, otherwise at_most_once",
			"effect transactional cannot be had: no transaction spans the gateway and a remote server")
		return
	}
	value, ok := p.oneOf(n, "effect", RuleEffectValue, string(AtMostOnce), string(Idempotent))
	if ok {
		c.Effect = Effect(value)
	}
}

const (
	maxTools    = 512
	maxToolName = 128
)

func parseTools(p *parser, n *yaml.Node, c *Connection) {
	entries, ok := p.list(n, "tools", RuleToolsValue)
	if !ok {
		return
	}
	if len(entries) > maxTools {
		p.report(n, RuleToolsValue, "tools has %d entries, more than %d", len(entries), maxTools)
		return
	}
	for _, entry := range entries {
		if entry.Kind == yaml.MappingNode {
			p.reportHint(entry, RuleToolsCondition, "name the tool alone", "a condition on a tool is not supported by this version")
			continue
		}
		name, ok := p.text(entry, "an entry of tools")
		switch {
		case !ok:
		case strings.ContainsAny(name, "*?[]"):
			p.reportHint(entry, RuleToolsGlob, "name each tool", "the pattern %s in tools is not supported by this version", show.Quote(name))
		case len(name) > maxToolName || strings.ContainsFunc(name, func(r rune) bool { return r == ' ' || show.Unprintable(r) }):
			p.report(entry, RuleToolsValue, "an entry of tools must be a tool's name, not %s", show.Quote(name))
		default:
			c.Tools = append(c.Tools, name)
		}
	}
}

func parseOptional(p *parser, n *yaml.Node, c *Connection) {
	value, ok := p.text(n, "optional")
	if !ok {
		return
	}
	if value != "true" && value != "false" {
		p.reportHint(n, RuleOptionalValue, meantBool(value), "optional must be one of true, false, not %s", show.Quote(value))
		return
	}
	c.Optional = value == "true"
}

// meantBool names the word for a spelling that some YAML readers take for a truth value and others for text.
func meantBool(value string) string {
	switch strings.ToLower(value) {
	case "yes", "y", "on", "true", "1":
		return `did you mean "true"?`
	case "no", "n", "off", "false", "0":
		return `did you mean "false"?`
	}
	return didYouMean(value, []string{"true", "false"})
}

func parseTimeout(p *parser, n *yaml.Node, c *Connection) {
	parseDuration(p, n, "timeout", RuleTimeoutValue, time.Second, 14*time.Minute, "from 1s to 14m", &c.Timeout)
}

func parseApprovalTTL(p *parser, n *yaml.Node, c *Connection) {
	parseDuration(p, n, "approval_ttl", RuleApprovalTTLValue, 30*time.Second, 30*24*time.Hour, "from 30s to 30d", &c.ApprovalTTL)
}

func parseDuration(p *parser, n *yaml.Node, key string, rule Rule, shortest, longest time.Duration, span string, to *time.Duration) {
	value, ok := p.text(n, key)
	if !ok {
		return
	}
	d, ok := duration(value)
	if !ok || d < shortest || d > longest {
		hint := "write a whole number with its unit, such as 90s, 5m, 12h or 7d"
		if _, err := strconv.Atoi(value); err == nil {
			hint = "add the unit: " + value + "s, " + value + "m, ..."
		} else if ok {
			hint = ""
		}
		p.reportHint(n, rule, hint, "%s must be a duration %s, not %s", key, span, show.Quote(value))
		return
	}
	*to = d
}

var durationPattern = regexp.MustCompile(`^(?:(\d{1,8})d)?(?:(\d{1,8})h)?(?:(\d{1,8})m)?(?:(\d{1,8})s)?$`)

// duration reads whole numbers of days, hours, minutes and seconds in this order, such as 7d or 1m30s. Eight digits a unit
// keep the sum far from overflowing.
func duration(text string) (time.Duration, bool) {
	parts := durationPattern.FindStringSubmatch(text)
	if parts == nil || text == "" {
		return 0, false
	}
	var sum time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, err := strconv.ParseInt("0"+parts[i+1], 10, 64)
		if err != nil {
			return 0, false
		}
		// A quarter of what a Duration holds for each unit, so that the sum of the four does not overflow.
		if n > int64(1<<62)/int64(unit)/4 {
			return 0, false
		}
		sum += time.Duration(n) * unit
	}
	return sum, true
}

var approverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

func parseApprovers(p *parser, n *yaml.Node, c *Connection) {
	entries, ok := p.list(n, "approvers", RuleApproversValue)
	if !ok {
		return
	}
	for _, entry := range entries {
		name, ok := p.text(entry, "an entry of approvers")
		if !ok {
			continue
		}
		if !approverName.MatchString(name) {
			p.reportHint(entry, RuleApproversValue, "names have letters, digits and . _ @ + -, at most 64",
				"an entry of approvers must be an approver's name, not %s", show.Quote(name))
			continue
		}
		c.Approvers = append(c.Approvers, name)
	}
}
