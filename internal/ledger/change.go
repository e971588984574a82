package ledger

import (
	"slices"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Change is one transition as data: the one conditional write that a Store makes of it. It is complete: a store adds no
// condition and leaves none out.
type Change struct {
	Key    Key
	From   State        // L1: always part of the condition
	Head   string       // L1: always part of the condition: the exact history that this change extends
	Guards []row.Guard  // time, attempt, owner and definition conditions of this transition
	Event  Event        // its Text is appended to the list of events
	Set    []row.Assign // begins with the new state and the new head
	Remove []row.Field
}

// Condition returns every condition of the write (L1). All must hold.
func (c Change) Condition() []row.Guard {
	return append([]row.Guard{
		{Field: row.State, Op: row.Equal, Value: string(c.From)}, {Field: row.Head, Op: row.Equal, Value: c.Head}}, c.Guards...)
}

// Holds reports whether the condition holds for it.
func (c Change) Holds(it row.Item) bool {
	for _, g := range c.Condition() {
		if !g.Holds(it) {
			return false
		}
	}
	return true
}

// Apply returns it as the write leaves it. It does not look at the condition.
func (c Change) Apply(it row.Item) row.Item {
	out := it.Clone()
	for _, a := range c.Set {
		out[a.Field] = a.Value
	}
	for _, f := range c.Remove {
		delete(out, f)
	}
	events, _ := out[row.Events].([]string)
	out[row.Events] = append(slices.Clone(events), c.Event.Text)
	return out
}
