package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Message is the msg of the log lines that hold heads.
const Message = "transition"

// lineMax is the longest line of a log that is read.
const lineMax = 1 << 20

// Heads is what a log says of the histories of calls.
type Heads struct {
	of   map[ledger.ID]map[int]string
	last map[ledger.ID]time.Time
}

// ReadHeads reads JSON lines {"id","n","head"}: those of the functions' log, where other lines are passed over, or bare ones. A line
// that is not JSON, or a transition that says less, is an error that names its number: half a log proves nothing.
func ReadHeads(r io.Reader) (*Heads, error) {
	h := &Heads{map[ledger.ID]map[int]string{}, map[ledger.ID]time.Time{}}
	in := bufio.NewScanner(r)
	in.Buffer(nil, lineMax)
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		var line struct {
			Time time.Time `json:"time"`
			ID   string    `json:"id"`
			N    int       `json:"n"`
			Head string    `json:"head"`
		}
		var kind struct { // other lines may have an n of another type
			Message *string `json:"msg"`
		}
		if err := json.Unmarshal(in.Bytes(), &kind); err != nil {
			return nil, fmt.Errorf("line %d is not a JSON object: %w", n, err)
		}
		if kind.Message != nil && *kind.Message != Message {
			continue
		}
		err := json.Unmarshal(in.Bytes(), &line)
		if err == nil && (line.N < 1 || line.Head == "") {
			err = errors.New("a transition has id, n (from 1) and head")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		key, err := ledger.ParseID(line.ID)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		h.add(key.ID(), line.N, line.Head, line.Time)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading heads: %w", err)
	}
	return h, nil
}

// add takes in one line. Two lines that disagree about one event are both kept: no head is equal to that.
func (h *Heads) add(id ledger.ID, n int, head string, at time.Time) {
	if h.of[id] == nil {
		h.of[id] = map[int]string{}
	}
	if before := h.of[id][n]; before != "" && before != head {
		head = before + " and " + head
	}
	h.of[id][n] = head
	if at.After(h.last[id]) {
		h.last[id] = at
	}
}

// IDs returns the calls of which something was logged, sorted.
func (h *Heads) IDs() []ledger.ID {
	if h == nil {
		return nil
	}
	var ids []ledger.ID
	for id := range h.of {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// numbers returns the events of id that were logged, in order.
func (h *Heads) numbers(id ledger.ID) []int {
	if h == nil {
		return nil
	}
	var all []int
	for n := range h.of[id] {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}
