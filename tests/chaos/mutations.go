package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Mutation is one rule of the design taken away, to see that this is found.
type Mutation struct {
	Name  string
	Rule  string // what is broken
	Edits []Edit

	Look string // where the rig looks: arguments of the command; empty: it cannot see this
	Test string // the packages whose tests find it where the rig does not
}

// Edit replaces a text that a file has exactly once.
type Edit struct{ File, Old, New string }

// Mutations returns all of them. They are texts of this tree: one that does not fit any more is an error, not a pass.
func Mutations() []Mutation {
	return []Mutation{
		{
			Name: "state-only-condition", Rule: "the condition of a write names the state and not the history (R1)", Look: "-singles -flows idempotent-retried",
			Edits: []Edit{{"internal/ledger/change.go", `, {Field: row.Head, Op: row.Equal, Value: c.Head}}`, `}`}},
		},
		{
			Name: "failed-condition-means-lost", Rule: "a failed condition means that somebody else won, though the event may be one's own (R3)", Look: "-singles -flows ungated",
			Edits: []Edit{
				{"internal/ledger/ledger.go", "\t\tnow = refused.Current // R3", "\t\treturn Invocation{}, &Conflict{Current: refused.Current} // R3"},
				{"internal/ledger/create.go", "\t\tstored = refused.Current // R3", "\t\treturn refused.Current, false, nil // R3"},
			},
		},
		{
			Name: "send-on-an-unknown-write", Rule: "a claim whose outcome nobody knows is followed by a send (R4)", Look: "-outages -flows ungated",
			Edits: []Edit{{"internal/ledger/create.go",
				"\t\t\treturn Invocation{}, false, fmt.Errorf(\"%w: %s of %s: %w; reading it back: %w\", ErrUnknown, k, first.Key.ID(), unsure, err)",
				"\t\t\tfirst.mine = nonceOfStart(first)\n\t\t\treturn first, true, nil"}},
		},
		{
			Name: "retry-an-ambiguous-answer", Rule: "an answer that tells nothing is followed by a second request (R6)", Look: "-singles -flows ungated",
			Edits: []Edit{{"internal/upstream/send.go", "\tif c != refused || !r.cure(ctx, s) {", "\tif c != ambiguous && (c != refused || !r.cure(ctx, s)) {"}},
		},
		{
			Name: "sweep-restarts-at-most-once", Rule: "an abandoned at_most_once call is started again (T9)", Look: "-singles -flows ungated",
			Edits: []Edit{
				{"internal/ledger/transition/table.go", "\t\t{row.Effect, row.Equal, Repeatable, \"its connection is at_most_once: it is never sent again by itself\"},\n", ""},
				{"internal/gateway/stale.go", "inv.State == ledger.Started && inv.Effect != ledger.Idempotent && g.Ledger.LeaseOver(inv, now):", "false:"},
				{"internal/gateway/sweep.go", "inv.State == ledger.Started && inv.Effect == ledger.Idempotent && g.Ledger", "inv.State == ledger.Started && g.Ledger"},
				{"internal/gateway/execute.go", "\tif inv.Effect == ledger.Idempotent {\n\t\ta, refused", "\tif true {\n\t\ta, refused"},
			},
		},
		{
			Name: "expire-after-a-doubt", Rule: "an approval that grew old expires, though an earlier start may have run (R9)", Look: "-singles -flows doubt-lapsed",
			Edits: []Edit{{"internal/ledger/transition/table.go", `"T5x", to: Expired, ran: InDoubt,`, `"T5x", to: Expired,`}},
		},
		{
			Name: "doubt-is-failure", Rule: "an ambiguous answer is recorded as not executed (T8)", Look: "-singles -flows ungated",
			Edits: []Edit{{"internal/gateway/attempt.go", "\tcase Doubt:\n\t\treturn g.doubt(ctx, a, inv, o)", "\tcase Doubt:\n\t\treturn g.notRun(ctx, a, inv, &NotSent{Stage: \"call\", Reason: o.Reason})"}},
		},
		{
			Name: "unique-ids-dropped", Rule: "all events carry the same nonce (R2)", Look: "-singles -flows ungated",
			Edits: []Edit{{"internal/ledger/history/chain.go", "\treturn base64.RawURLEncoding.EncodeToString(b[:]), nil", "\treturn \"AAAAAAAAAAAA\", nil"}},
		},
		{
			Name: "blind-decide", Rule: "an approval and a decline are written whatever stands there by now (T1, T2)", Look: "-singles -flows gated-approve",
			Edits: []Edit{{"internal/ledger/change.go", "func (c Change) Condition() []row.Guard {\n",
				"func (c Change) Condition() []row.Guard {\n\tif c.Event.Kind == Approve || c.Event.Kind == Decline {\n\t\treturn []row.Guard{{Field: row.State, Op: row.Present}}\n\t}\n"}},
		},
		{
			Name: "send-before-claim", Rule: "the executor sends without having won the claim (T5)", Look: "-outages -flows gated-approve",
			Edits: []Edit{{"internal/gateway/execute.go", "\t\treturn lost(err) // somebody else won, or nobody knows: no send (G3)", "\t\tclaimed = inv"}},
		},
		{
			Name: "swept-claim-sends", Rule: "a claim that was won and swept before its answer arrived is followed by a send (L6)", Test: "./internal/ledger/...",
			Edits: []Edit{{"internal/ledger/ledger.go", "if now.State != Started || now.Head != ch.head() {", "if false {"}},
		},
		{
			Name: "ttl-on-open-rows", Rule: "a row that is still open may be deleted (R11)", Test: "./internal/ledger/...",
			Edits: []Edit{{"internal/ledger/reduce.go", "\tcase b.to == Approved:\n", "\tcase b.to == Approved:\n\t\tb.put(row.DeleteAt, b.c.At.Add(b.lim.retention).Unix())\n"}},
		},
	}
}

// overlay writes the mutated files and the description of them that go build reads.
func (m Mutation) overlay(root, dir string) (string, error) {
	replace := map[string]string{}
	for i, e := range m.Edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		from := path
		if done, again := replace[path]; again {
			from = done
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if n := bytes.Count(text, []byte(e.Old)); n != 1 {
			return "", fmt.Errorf("mutation %s: %s has the text %q %d times, want once: adapt the mutation to the code", m.Name, e.File, e.Old, n)
		}
		to := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(e.File)))
		if err := os.WriteFile(to, bytes.Replace(text, []byte(e.Old), []byte(e.New), 1), 0o600); err != nil {
			return "", err
		}
		replace[path] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, b, 0o600)
}
