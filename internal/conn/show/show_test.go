package show_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/countersign-mcp/countersign/internal/conn/show"
	"pgregory.net/rapid"
)

func TestLooksSecret(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		// Words, names, paths and values that a message should repeat.
		"": false, "ask": false, "at-most-once": false, "crm.mcp_token": false, "npm_token": false, "sk-learn": false,
		"https://mcp.example.com/mcp": false, "production_customer_relations_service": false, "Idempotency-Key": false,
		"listAllCustomerAccounts": false, "2026-11-30": false, "s3cret": false, "bearer": false,
		// What issuers hand out, and what looks like it.
		"sk_live_51Habc": true, "ghp_abcdefghijkl": true, "github_pat_11ABC": true, "xoxb-1234-abcd": true,
		"eyJhbGciOiJIUzI1NiJ9.e30.c2ln": true, "AKIAIOSFODNN7EXAMPLE": true, "Bearer abcdefghijklmnop": true,
		"c50e8400-e29b-41d4-a716-446655440000": true, "d41d8cd98f00b204e9800998ecf8427e": true, "q7Zk2Vw9Lx4Tn8Rb": true,
		"aBcDeFgHiJkLmNoP": true, "1234567890123456": true, "crm/q7Zk2Vw9Lx4Tn8Rb": true,
	} {
		if got := show.LooksSecret(text); got != want {
			t.Errorf("LooksSecret(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestNamesSecret(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"api_key": true, "apiKey": true, "API-KEY": true, "key": true, "X-Api-Key": true, "access_token": true, "code": true, "sig": true,
		"client_secret": true, "Ocp-Apim-Subscription-Key": true,
		"tenant": false, "keyword": false, "q": false, "tokens": false, "author": false, "encode": false, "": false,
	} {
		if got := show.NamesSecret(name); got != want {
			t.Errorf("NamesSecret(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"ask":                    `"ask"`,
		"a\u202eb\x1b[2J":        `"a\u202eb\x1b[2J"`,
		"検索":                     `"検索"`,
		strings.Repeat("a ", 50): `"` + strings.Repeat("a ", 30) + `"...`,
		"sk_live_51Habc":         "a value that is not shown because it looks like a secret",
	} {
		if got := show.Quote(value); got != want {
			t.Errorf("Quote(%q) = %s, want %s", value, got, want)
		}
	}
}

func TestMaskKeepsTheColumns(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"approval: ask # why":                              "approval: ask # why",
		"auth: {type: bearer, credential: sk_live_51Habc}": "auth: {type: bearer, credential: **************}",
		"url: https://h.example/s/q7Zk2Vw9Lx4Tn8Rb/mcp":    "url: https://h.example/s/********************",
		`k: "d41d8cd98f00b204e9800998+/x=" # y`:            `k: "****************************" # y`,
	} {
		if got := string(show.Mask([]rune(line))); got != want {
			t.Errorf("Mask(%s)\n got %s\nwant %s", line, got, want)
		}
	}
}

// TestWhatIsShownIsPrintable attacks S2 with any text.
func TestWhatIsShownIsPrintable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		for _, shown := range []string{show.Quote(text), show.Visible(text)} {
			if i := strings.IndexFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Fatalf("%q is shown as %q", text, shown)
			}
		}
		if len(show.Mask([]rune(text))) != len([]rune(text)) {
			t.Fatalf("Mask(%q) has another length", text)
		}
	})
}
