package model_test

import (
	"fmt"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// addRow returns the number of a row content.
func (e *explorer) addRow(k ledger.Key, it row.Item) int32 {
	content := fmt.Sprint(k, it) // maps print in order
	if id, known := e.rowIDs[content]; known {
		return id
	}
	inv, err := ledger.FromItem(k, it)
	if err != nil {
		panic(fmt.Sprintf("the ledger wrote a row that it cannot read: %v", err))
	}
	id := int32(len(e.rows))
	e.rows = append(e.rows, storeRow{it, inv, e.factsOf(inv)})
	e.rowIDs[content] = id
	return id
}

// addWrite returns the number of a write. Events carry a nonce, so a write is known by its text and what it extends.
func (e *explorer) addWrite(s storeWrite) int32 {
	k := fmt.Sprint(s.key, s.put, s.row, s.change.Head, s.change.Event.Text, s.change.Set)
	if id, known := e.writeIDs[k]; known {
		return id
	}
	id := int32(len(e.writes))
	e.writes = append(e.writes, s)
	e.writeIDs[k] = id
	return id
}

// apply makes a write, if its condition holds. The row that it ran into, or left, is the last result.
func (e *explorer) apply(w world, id int32) (world, bool, int32) {
	s := e.writes[id]
	at := e.slot(&w, s.key)
	current := int32(0)
	if at != nil {
		current = *at
	}
	k := [2]int32{current, id}
	to, known := e.effects[k]
	if !known {
		to = -1
		switch {
		case s.put && (current == 0 || e.mutant == putOverwrites):
			to = s.row
		case !s.put && current != 0 && e.holds(s.change, e.rows[current].item):
			to = e.addRow(s.change.Key, s.change.Apply(e.rows[current].item))
		}
		e.effects[k] = to
	}
	switch {
	case to < 0:
		return w, false, current
	case at == nil: // a generation of its own
		if w.older[len(w.older)-1] != 0 {
			panic("more generations of identical calls than a world holds: take an actor away")
		}
		w.older, w.row = [3]int32{w.row, w.older[0], w.older[1]}, to
	default:
		*at = to
	}
	return w, true, to
}

// at is the row with key k in w, or the newest where k is empty.
func (e *explorer) at(w world, k ledger.Key) int32 {
	if k == (ledger.Key{}) {
		return w.row
	}
	if at := e.slot(&w, k); at != nil {
		return *at
	}
	return 0
}

// slot is where the row with key k stands in w, nil where there is none.
func (e *explorer) slot(w *world, k ledger.Key) *int32 {
	for _, at := range []*int32{&w.row, &w.older[0], &w.older[1], &w.older[2]} {
		if *at != 0 && e.rows[*at].inv.Key == k {
			return at
		}
	}
	return nil
}
