// Package transition holds the words and the table of the state machine: which states a call can be in, what can happen to it, and for
// every state and every kind of event whether that is allowed, under which condition, and where it leads.
//
// It decides nothing about a single call. Package ledger turns a rule into the one conditional write that carries it out, package
// history reads with it what an event left out because the table says it, and docs/ledger.md is generated from it.
//
//	r, refusal := transition.Find(transition.Approved, transition.Claim, false)
//	r.Target(0)  // started
//	for _, row := range transition.Table() { ... }
//
// Promises:
//
//	L3  One table states every state x kind, allowed or refused with a reason.
//	L4  Nothing leaves a terminal state: those columns hold refusals only.
//	W1  Words and what an event of a kind leads to are stored, or follow from what is stored: they never change. A kind that is to lead
//	    elsewhere is another kind.
//
// Left to others: the values that conditions compare with, who may act, and the stored form.
package transition
