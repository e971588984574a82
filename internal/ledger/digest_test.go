package ledger_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

// digested is every text that the decision digest covers, in the order in which it does.
func digested(inv *ledger.Invocation) []*string {
	return []*string{&inv.Principal, &inv.ActingUser, &inv.Connection, &inv.Tool, &inv.UpstreamTool, &inv.UpstreamURL, &inv.DefinitionDigest}
}

func anyInvocation(t *rapid.T) ledger.Invocation {
	inv := ledgertest.Draft(rapid.String().Draw(t, "key"))
	for _, p := range digested(&inv) {
		*p = rapid.StringN(0, 8, 20).Draw(t, "text")
	}
	inv.Args = rapid.SliceOf(rapid.Byte()).Draw(t, "args")
	inv.Context = rapid.SliceOf(rapid.Byte()).Draw(t, "context")
	inv.Meta = rapid.SliceOf(rapid.Byte()).Draw(t, "meta")
	inv.Effect = rapid.SampledFrom([]ledger.Effect{ledger.AtMostOnce, ledger.Idempotent}).Draw(t, "effect")
	inv.Gate = rapid.SampledFrom([]ledger.Gate{ledger.GateNever, ledger.GateOnce, ledger.GateAlways}).Draw(t, "gate")
	inv.ApprovalsNeeded = rapid.IntRange(1, 5).Draw(t, "approvals")
	inv.CreatedAt = ledgertest.Begin().Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "created")) * time.Millisecond)
	inv.ExpiresAt = inv.CreatedAt.Add(time.Hour)
	return inv
}

func TestAnyChangedFieldChangesTheDecisionDigest(t *testing.T) { // L7
	t.Parallel()
	bytes := func(b []byte) []byte { return append(append([]byte(nil), b...), 'x') }
	changes := map[string]func(*ledger.Invocation){
		"invocation": func(i *ledger.Invocation) { i.Key = ledgertest.Keyer().Keyed("another", "", "", "call") },
		"generation": func(i *ledger.Invocation) {
			i.Key = ledger.Key{Partition: "c#" + i.Key.Partition[2:], Sort: "00000001"}
		},
		"arguments":          func(i *ledger.Invocation) { i.Args = bytes(i.Args) },
		"context":            func(i *ledger.Invocation) { i.Context = bytes(i.Context) },
		"meta":               func(i *ledger.Invocation) { i.Meta = bytes(i.Meta) },
		"context for meta":   func(i *ledger.Invocation) { i.Context, i.Meta = bytes(i.Meta), i.Context },
		"effect":             func(i *ledger.Invocation) { i.Effect += "x" },
		"gate":               func(i *ledger.Invocation) { i.Gate += "x" },
		"approvals needed":   func(i *ledger.Invocation) { i.ApprovalsNeeded++ },
		"created":            func(i *ledger.Invocation) { i.CreatedAt = i.CreatedAt.Add(time.Millisecond) },
		"expires":            func(i *ledger.Invocation) { i.ExpiresAt = i.ExpiresAt.Add(-time.Millisecond) },
		"no expiry":          func(i *ledger.Invocation) { i.ExpiresAt = time.Time{} },
		"one byte of a text": nil,
	}
	rapid.Check(t, func(t *rapid.T) {
		inv := anyInvocation(t)
		before := inv.ComputeDecisionDigest()
		for name, change := range changes {
			changed := inv
			if change == nil {
				fields := digested(&changed)
				*fields[rapid.IntRange(0, len(fields)-1).Draw(t, "field")] += "x"
			} else {
				change(&changed)
			}
			if changed.ComputeDecisionDigest() == before {
				t.Fatalf("a changed %s has the same digest", name)
			}
		}
		same := inv
		same.State, same.Head, same.Attempts, same.SeenTwice, same.NotifiedAt, same.Verified = ledger.Started, "h", 4, 2, time.Now(), "v"
		if same.ComputeDecisionDigest() != before {
			t.Fatal("what happens to a call changes what was decided about")
		}
	})
}

func TestNoByteMovesBetweenFields(t *testing.T) { // L7
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inv := anyInvocation(t)
		fields := digested(&inv)
		i := rapid.IntRange(0, len(fields)-2).Draw(t, "field")
		whole := rapid.StringN(1, 10, 30).Draw(t, "whole")
		digests := map[string]int{}
		for cut := range len(whole) + 1 {
			*fields[i], *fields[i+1] = whole[:cut], whole[cut:]
			digest := inv.ComputeDecisionDigest()
			if earlier, there := digests[digest]; there {
				t.Fatalf("%q cut at %d and at %d has one digest", whole, earlier, cut)
			}
			digests[digest] = cut
		}
	})
}

func TestDecisionDigestStays(t *testing.T) {
	t.Parallel()
	inv := ledgertest.Draft("fixed")
	inv.CreatedAt = ledgertest.Begin()
	const want = "f518ddc060aafeeb42e178e8e7ba727c509eb2e0ed2ca18f777214f8c8baae51"
	if got := inv.ComputeDecisionDigest(); got != want {
		t.Errorf("got %s, want %s: parked calls and links in mailboxes carry the old one", got, want)
	}
	if got := inv.ComputeDecisionDigest(); strings.ToLower(got) != got || len(got) != 64 {
		t.Errorf("%q is not the hex of a SHA-256", got)
	}
}
