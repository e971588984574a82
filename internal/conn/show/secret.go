package show

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// secretPrefixes begin the tokens of well-known issuers, with the case they are issued in, and nothing else.
func secretPrefixes() []string {
	return []string{
		"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
		"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xapp-", "sk-ant-", "sk-proj-", "dop_v1_", "shpat_", "shpss_", "lin_api_", "figd_", "sntrys_",
		"dckr_pat_", "pypi-", "cst1.",
	}
}

// shortSecretPrefixes do so too, but words may begin like them, so that only a long rest tells.
func shortSecretPrefixes() []string {
	return []string{"sk-", "eyJ", "AKIA", "ASIA", "AIza", "ya29.", "SG.", "npm_", "Bearer ", "bearer ", "Basic ", "basic "}
}

// minSecretRun is the length from which a run of letters and digits counts as random: longer than words of names are, and
// shorter than tokens are.
const minSecretRun = 16

// uuidPattern finds a UUID, a common shape of API keys.
var uuidPattern = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// LooksSecret reports whether text is more likely a credential than a word, a name or a path. It errs towards yes: the
// price of a wrong yes is a value that is not repeated in a message.
func LooksSecret(text string) bool {
	if HasSecretPrefix(text) || uuidPattern.MatchString(text) {
		return true
	}
	for _, run := range strings.FieldsFunc(text, isSeparator) {
		if looksRandom(run) {
			return true
		}
	}
	return false
}

// IsID reports whether text is a number or a UUID: what people call a tenant or an account by, though keys have such forms too.
func IsID(text string) bool {
	return strings.Trim(text, "0123456789.-") == "" || uuidPattern.FindString(text) == text
}

// HasSecretPrefix reports whether text begins as the tokens of a known issuer do, with something behind it.
func HasSecretPrefix(text string) bool {
	begins := func(prefixes []string, rest int) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) && len(text) >= len(p)+rest })
	}
	return begins(secretPrefixes(), 4) || begins(shortSecretPrefixes(), minSecretRun-2)
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// looksRandom reports whether a run without separators is long and mixes what words do not mix: letters with several digits,
// or capitals inside small letters again and again.
func looksRandom(run string) bool {
	if len(run) < minSecretRun {
		return false
	}
	var digits, letters, turns int
	var upper bool
	for i, r := range run {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			if i > 0 && unicode.IsUpper(r) != upper {
				turns++
			}
			upper = unicode.IsUpper(r)
		}
	}
	return digits >= 2 && letters >= 2 || digits >= minSecretRun || turns >= len(run)/3
}

// secretNames are query parameters that carry credentials, without separators and in small letters.
func secretNames() []string {
	return []string{
		"key", "apikey", "token", "auth", "authorization", "secret", "password", "passwd", "pwd", "pass", "sig", "signature", "jwt",
		"bearer", "credential", "credentials", "code", "accesskey", "subscriptionkey",
	}
}

// NamesSecret reports whether a query parameter is named like a credential.
func NamesSecret(parameter string) bool {
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if isSeparator(r) {
			return -1
		}
		return r
	}, parameter))
	if slices.Contains(secretNames(), name) {
		return true
	}
	for _, ending := range []string{"apikey", "token", "secret", "password", "accesskey", "signature", "subscriptionkey"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// Mask replaces what looks like a credential by as many asterisks, so that columns stay where they are. From the first
// piece that does, the rest of the word goes too: encodings of keys hold separators.
func Mask(line []rune) []rune {
	masked := slices.Clone(line)
	for start := 0; start < len(line); {
		if isWordEdge(line[start]) || isPieceEdge(line[start]) {
			start++
			continue
		}
		end := start
		for end < len(line) && !isWordEdge(line[end]) && !isPieceEdge(line[end]) {
			end++
		}
		if LooksSecret(string(line[start:end])) {
			for end < len(line) && !isWordEdge(line[end]) {
				end++
			}
			for i := start; i < end; i++ {
				masked[i] = '*'
			}
		}
		start = end
	}
	return masked
}

func isWordEdge(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'{}[],", r) }

func isPieceEdge(r rune) bool { return strings.ContainsRune(":;=&?/#@", r) }
