package model_test

import (
	"context"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
)

// Names of the scenarios of identical calls without a client key.
const (
	meeting  = "identical calls without a key, decided and made again"
	meetings = "identical calls without a key, left to an executor, cancelled and made again"
)

// meetScenarios are the worlds in which L11 is searched: several rows may come to be, one after the other, and never two at once.
func meetScenarios() []scenario {
	d := draft(ledger.AtMostOnce, 1)
	d.Key, d.Keyed, d.KeyDigest = ledger.Key{}, false, ""
	return []scenario{
		{name: meeting, draft: d, sizes: [3]int8{1, 1, 2}, programs: []program{
			two("caller", joiner), one("twin", joiner), one("late", lateJoiner), one("bo", decliner), one("sweeper", sweeper)}},
		{name: meetings, draft: d, sizes: [3]int8{1, 1, 2}, programs: []program{
			two("caller", delegatingJoiner), one("twin", delegatingJoiner), one("canceller", canceller), one("newer", newerExecutor)}},
	}
}

func joiner(p *process) { p.join(ledger.Park, begin()) }

// lateJoiner finds by its clock that the time for a decision is over, and expires the twin that waits before it parks its own.
func lateJoiner(p *process) { p.join(ledger.Park, fast()) }

func delegatingJoiner(p *process) { p.join(ledger.StartByPolicy, begin()) }

// join makes the call, or finds the identical one that is open, and is told which.
func (p *process) join(k ledger.Kind, at time.Time) {
	d := p.e.draft
	d.ExpiresAt = at.Add(time.Hour)
	partition := ledgertest.Keyer().Joining(d.Principal, d.ActingUser, d.Tool, d.Fingerprint)
	by := ledger.Actor{By: p.name, RequestID: requestID(p.name, p.round)}
	inv, fresh, err := p.ledger.Join(context.Background(), partition, d, k, by, at, time.Time{})
	p.about = inv.Key
	switch {
	case err != nil:
	case fresh:
		p.tell(made)
	default:
		p.tell(met)
	}
}
