package ledger_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

func TestIDsLeadBackToTheirKey(t *testing.T) {
	t.Parallel()
	y := ledgertest.Keyer()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		k := y.Keyed(text.Draw(t, "principal"), text.Draw(t, "user"), text.Draw(t, "tool"), text.Draw(t, "key"))
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			generation := rapid.SampledFrom([]string{"00000001", "00000127", "00000128", "00065536", "99999999"}).Draw(t, "generation")
			k = ledger.Key{Partition: y.Joining("a", "b", "c", text.Draw(t, "fingerprint")), Sort: generation}
		case 1:
			k, _ = y.Random(rand.Reader)
		}
		id := k.ID()
		got, err := ledger.ParseID(string(id))
		if err != nil || got != k || !strings.HasPrefix(string(id), "inv_") {
			t.Fatalf("%v has the id %q, which leads to %v, %v", k, id, got, err)
		}
	})
}

func TestAnIDHasOneSpelling(t *testing.T) {
	t.Parallel()
	y := ledgertest.Keyer()
	ids := []ledger.ID{y.Keyed("p", "", "t", "k").ID(), ledger.Key{Partition: y.Joining("p", "", "t", "f"), Sort: "00000300"}.ID()}
	for _, id := range ids {
		for i := range id {
			for _, c := range []byte("ab27AZ_-=. ") {
				s := []byte(id)
				if s[i] == c {
					continue
				}
				s[i] = c
				if k, err := ledger.ParseID(string(s)); err == nil && k.ID() != ledger.ID(s) {
					t.Errorf("%s is a second spelling of %s", s, k.ID())
				}
			}
		}
		for _, s := range []string{"", "inv_", string(id) + "a", string(id[:len(id)-1]), strings.ToUpper(string(id)), " " + string(id), string(id) + "\n", string(id[4:]),
			string(id) + strings.Repeat("a", 100)} {
			if k, err := ledger.ParseID(s); err == nil {
				t.Errorf("%q was taken for %v", s, k)
			}
		}
	}
}

func TestKeysThatNoInvocationHasHaveNoID(t *testing.T) {
	t.Parallel()
	y := ledgertest.Keyer()
	joining := y.Joining("p", "", "t", "f")
	for _, k := range []ledger.Key{{}, {Partition: "k#", Sort: "0"}, {Partition: "x#" + joining[2:], Sort: "0"}, {Partition: joining, Sort: "1"},
		{Partition: joining, Sort: "0"}, {Partition: joining, Sort: "-0000001"}, {Partition: "k#" + joining[2:], Sort: "00000001"}, y.Grant(joining, "s", "d"),
		{Partition: "R#inv_x", Sort: "001"}} {
		if id := k.ID(); id != "" {
			t.Errorf("%v has the id %s", k, id)
		}
	}
}

// Ids of one caller show no common beginning, and differ by every part of what identifies a call.
func TestIDsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	y, other := ledgertest.Keyer(), ledger.NewKeyer([]byte("another deployment"))
	first := map[byte]int{}
	for i := range 2000 {
		first[y.Keyed("p", "", "t", strings.Repeat("k", i)).ID()[4]]++
	}
	if len(first) < 30 {
		t.Errorf("the first character of 2,000 ids takes only %d values", len(first))
	}
	seen := map[ledger.Key]string{}
	for name, k := range map[string]ledger.Key{
		"base": y.Keyed("p", "u", "t", "k"), "principal": y.Keyed("p2", "u", "t", "k"), "user": y.Keyed("p", "", "t", "k"), "tool": y.Keyed("p", "u", "t2", "k"),
		"key": y.Keyed("p", "u", "t", "k2"), "secret": other.Keyed("p", "u", "t", "k"), "shifted": y.Keyed("pu", "", "t", "k"),
		"joining": {Partition: y.Joining("p", "u", "t", "k"), Sort: "00000001"},
	} {
		if twin, there := seen[k]; there {
			t.Errorf("%s and %s have one key", name, twin)
		}
		seen[k] = name
	}
	if y.Joining("p", "u", "t", "k")[2:] == y.Keyed("p", "u", "t", "k").Partition[2:] {
		t.Error("a client key can be chosen to meet the joining partition of a call")
	}
}

func TestRandomKeysNeedRandomness(t *testing.T) {
	t.Parallel()
	if _, err := ledgertest.Keyer().Random(bytes.NewReader([]byte("short"))); err == nil {
		t.Error("a key was made of too little randomness")
	}
}
