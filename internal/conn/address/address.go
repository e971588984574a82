package address

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
)

const maxURL = 2048

// The ids of the rules that a URL can break.
const (
	Invalid         = "url-invalid"
	Scheme          = "url-scheme"
	Plaintext       = "url-plaintext"
	Userinfo        = "url-userinfo"
	Secret          = "url-secret"
	HiddenCharacter = "hidden-character"
)

// Fault is what is wrong with a URL. Its texts never repeat the URL, which may hold a credential (A2).
type Fault struct {
	Rule          string // one of the ids above
	Message, Hint string // the message reads on from "url "; the hint may be empty
}

// Probe returns a URL without variables that has every fault which the written one shows already (A3). Where the host is a
// variable or part of one, this machine stands in for it, since that is allowed with both schemes; the real host is judged
// once it is known.
func Probe(segments []Segment) string {
	const mark = "\x00" // cannot be typed: the file's characters are checked before
	text := Fill(segments, func(string) string { return mark })

	if first := strings.Index(text, mark); first >= 0 && !strings.Contains(text[:first], "://") {
		text = probeScheme(text[first:])
	}
	if scheme, rest, found := strings.Cut(text, "://"); found {
		end := authorityEnd(rest)
		text = scheme + "://" + probeAuthority(rest[:end], mark) + rest[end:]
	}
	return strings.ReplaceAll(text, mark, "00") // two digits: good as a label, a port and the rest of a %-escape
}

// probeScheme completes a URL whose scheme lies in a variable, at least in part. What follows the variable is a host only
// where a literal :// says so; otherwise only the path and query are known for sure.
func probeScheme(text string) string {
	end := authorityEnd(text)
	if end > 0 && strings.HasPrefix(text[end-1:], "://") {
		return "https" + text[end-1:]
	}
	return "https://localhost" + text[end:]
}

// authorityEnd returns where user, host and port end in what follows a scheme (RFC 3986, section 3.2).
func authorityEnd(rest string) int {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		return end
	}
	return len(rest)
}

func probeAuthority(authority, mark string) string {
	if !strings.Contains(authority, mark) || strings.Contains(authority, "@") {
		return authority
	}
	// A variable that is the whole port leaves the host to be judged. A bracket not closed is the middle of an address.
	host, isPort := strings.CutSuffix(authority, ":"+mark)
	if isPort && !strings.Contains(host, mark) && strings.HasPrefix(host, "[") == strings.HasSuffix(host, "]") {
		return host + ":443"
	}
	return "localhost"
}

// Check returns every reason not to send to a URL (A1).
func Check(text string) []Fault {
	if len(text) > maxURL {
		return []Fault{{Invalid, fmt.Sprintf("is longer than %d characters", maxURL), ""}}
	}
	for _, r := range text {
		if f, bad := checkCharacter(r); bad {
			return []Fault{f}
		}
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return []Fault{{Invalid, "has no scheme", "write https://host/path"}}
	}
	scheme = strings.ToLower(scheme)
	if scheme != "https" && scheme != "http" {
		return []Fault{{Scheme, "must begin with https://, not " + show.Quote(scheme+"://"), ""}}
	}
	if strings.Contains(rest[:authorityEnd(rest)], "@") {
		return []Fault{{Userinfo, "holds a user name or password", "name a credential under auth instead"}}
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error repeats the URL, so it is not passed on (A2).
		return []Fault{{Invalid, "is not a valid URL", "write https://host/path"}}
	}

	var faults []Fault
	if reason := hostFault(u.Hostname()); reason != "" {
		faults = append(faults, Fault{Invalid, reason, ""})
	} else if scheme == "http" && !isLocal(u.Hostname()) {
		faults = append(faults, Fault{
			Plaintext, "is plaintext http to another machine, where anyone on the way reads the calls and the credential",
			"use https; http is for localhost, 127.0.0.0/8 and [::1]",
		})
	}
	if strings.HasSuffix(u.Host, ":") || u.Port() != "" && !isPort(u.Port()) {
		faults = append(faults, Fault{Invalid, "has a port that is not a number from 1 to 65535", ""})
	}
	if strings.Contains(text, "#") {
		faults = append(faults, Fault{Invalid, "has a fragment, which is never sent to a server", "remove it from the # on"})
	}
	return append(faults, checkQuery(u.RawQuery)...)
}

func checkCharacter(r rune) (Fault, bool) {
	switch {
	case show.Hidden(r) || show.Unsafe(r):
		return Fault{HiddenCharacter, fmt.Sprintf("holds the hidden character %U", r), "remove it; type the line again"}, true
	case r > 0x7e:
		return Fault{Invalid, fmt.Sprintf("holds %U, which is not ASCII", r), "write a host in its xn-- form and a path with %-escapes"}, true
	case r <= ' ':
		return Fault{Invalid, "holds a space or line break", ""}, true
	case strings.ContainsRune("\"<>\\^`{|}$", r):
		return Fault{Invalid, fmt.Sprintf("holds %q, which must be %%-escaped in a URL", r), ""}, true
	}
	return Fault{}, false
}

func checkQuery(query string) []Fault {
	values, err := url.ParseQuery(query)
	if err != nil {
		return []Fault{{Invalid, "has a query that is not name=value pairs joined by &", ""}}
	}
	for name := range values {
		if show.NamesSecret(name) {
			return []Fault{{
				Secret, "carries a credential in its query, and URLs are logged and shown",
				"use auth: {type: header, header: X-Api-Key, credential: crm.api_key}",
			}}
		}
	}
	return nil
}

var hostLabel = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)

// hostFault says why a host cannot be dialled under that name, or nothing. Numbers in other forms than a plain address are
// refused, because readers and resolvers disagree about them: 127.1, 0x7f000001 and 2130706433 are all this machine to some.
func hostFault(host string) string {
	if host == "" {
		return "has no host"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" || addr.Is4In6() {
			return "has an address in an unusual form"
		}
		return ""
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if !hostLabel.MatchString(label) {
			return "has a host that is not a domain name"
		}
	}
	last := strings.ToLower(labels[len(labels)-1])
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "has a host that is a number but not an address"
	}
	if len(host) > 253 {
		return "has a host that is longer than 253 characters"
	}
	return ""
}

// isLocal reports whether a host is this machine without asking a resolver: names below .localhost and everything that
// merely begins like a loopback address are other machines.
func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// HoldsToken reports whether a piece of the URL is written like a known issuer's token.
func HoldsToken(text string) bool {
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/?&=#;:@,${}", r) }) {
		if show.HasSecretPrefix(piece) {
			return true
		}
	}
	return false
}
