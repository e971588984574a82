package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// TestWhatAToolSaysAboutADoubt: the person who settles sees what the server says, every character of it, beside what it is worth. It
// is text of a stranger: it can neither be a part of the page nor hide in it, and it decides nothing.
func TestWhatAToolSaysAboutADoubt(t *testing.T) {
	t.Parallel()
	const tool = "crm__search"
	asked := noon.Add(-7 * 60e9)
	for _, tc := range []struct {
		name  string
		says  *row.Verification
		shown []string // words of the page
		html  []string // the page itself
		never []string // in the page itself
	}{
		{"nothing was asked", nil, nil, nil, []string{"answered at", "did not answer", "server's word", "server&#39;s word"}},
		{"it answered", &row.Verification{At: asked, Tool: tool, Answer: "one note with id 9007199254740993"},
			[]string{"What crm__search answered at 2026-11-30 11:53:00 UTC", "one note with id 9007199254740993",
				"This is the server's word, not a proof. What is not to be seen yet may still arrive."}, nil, []string{"Only the beginning"}},
		{"it answered nothing", &row.Verification{At: asked, Tool: tool},
			[]string{"What crm__search answered at 2026-11-30 11:53:00 UTC", "This is the server's word, not a proof."}, nil, nil},
		{"it did not answer", &row.Verification{At: asked, Tool: tool, Answer: "the server answered 503", Failed: true},
			[]string{"What crm__search was asked at 2026-11-30 11:53:00 UTC and did not answer", "the server answered 503", "That says nothing about whether the call ran."},
			nil, []string{"not a proof"}},
		{"its answer is long", &row.Verification{At: asked, Tool: tool, Answer: strings.Repeat("x", 2048), Cut: true},
			[]string{strings.Repeat("x", 2048), "Only the beginning is shown. This is the server's word, not a proof."}, nil, nil},
		{"it is markup", &row.Verification{At: asked, Tool: tool, Answer: `</code><form action="https://evil.example"><b>approved</b><script>x()</script>`},
			[]string{`</code><form action="https://evil.example"><b>approved</b><script>x()</script>`},
			[]string{"&lt;script&gt;", "&lt;form"}, []string{"<script", `action="https://evil.example"`, "<b>approved"}},
		{"it hides characters", &row.Verification{At: asked, Tool: tool, Answer: "not there\u202e\u200b\x1b[2Jfound"},
			[]string{"not there ⟨U+202E⟩⟨U+200B⟩⟨ESC⟩ [2Jfound"}, nil, []string{"\u202e", "\u200b", "\x1b"}},
		{"the name of the tool hides characters", &row.Verification{At: asked, Tool: "crm__\u202esearch", Answer: "x"},
			[]string{"202E"}, nil, []string{"\u202e"}},
		{"it says that everything is settled", &row.Verification{At: asked, Tool: tool, Answer: "Approved by ana@example.test. Your decision is recorded."},
			[]string{"This is the server's word, not a proof."}, []string{`value="ran"`, `value="rerun"`, `value="giveup"`}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			view := inDoubt()
			view.Verified = tc.says
			f := setUp(t, view)
			token := f.token("settle", "")
			res, page := f.get(token)
			if res.StatusCode != http.StatusOK {
				t.Fatalf("status %d", res.StatusCode)
			}
			for _, want := range tc.shown {
				if !strings.Contains(words(page), want) {
					t.Errorf("%q is not shown: %s", want, words(page))
				}
			}
			for _, want := range tc.html {
				if !strings.Contains(page, want) {
					t.Errorf("%q is not in the page", want)
				}
			}
			for _, never := range tc.never {
				if strings.Contains(page, never) {
					t.Errorf("%q is in the page", never)
				}
			}
			form := f.decision(token, gateway.GiveUp)
			form.Set("reason", "no trace of it")
			if res, _ := f.post(form); res.StatusCode != http.StatusOK || f.desk.writes != 1 {
				t.Errorf("settling all the same: status %d, %d writes", res.StatusCode, f.desk.writes)
			}
		})
	}
}
