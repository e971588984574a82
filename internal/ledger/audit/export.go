package audit

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// Range is a span of time: from Since, up to but without Until. A zero time is no bound.
type Range struct{ Since, Until time.Time }

// Contains reports whether t is in r.
func (r Range) Contains(t time.Time) bool {
	return !t.Before(r.Since) && (r.Until.IsZero() || t.Before(r.Until))
}

// ParseMoment reads a time of a command line: RFC 3339 (2026-03-02T09:00:00Z), or how long ago it was (90m, 24h, 7d).
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a time like 2026-03-02T09:00:00Z nor how long ago, like 24h or 7d", text)
}

// Sort brings invocations into the order of an export: by the time of the first event, then by id (U4).
func Sort(all []ledger.Invocation) {
	slices.SortFunc(all, func(a, b ledger.Invocation) int {
		return cmp.Or(begun(a).Compare(begun(b)), strings.Compare(string(a.Key.ID()), string(b.Key.ID())))
	})
}

func begun(inv ledger.Invocation) time.Time {
	if len(inv.Events) == 0 {
		return inv.CreatedAt
	}
	return inv.Events[0].At
}

// Entry is one event of an export.
type Entry struct {
	ledger.Event
	Invocation *ledger.Invocation
	N          int // which event of the history, counted from 1
}

// Entries returns the events of all that are in r, in the order of all.
func Entries(all []ledger.Invocation, r Range) []Entry {
	var out []Entry
	for i := range all {
		for n, e := range all[i].Events {
			if r.Contains(e.At) {
				out = append(out, Entry{e, &all[i], n + 1})
			}
		}
	}
	return out
}

// Column is one column of a CSV export.
type Column struct {
	Name  string
	About string
	value func(Entry) string
}

// Columns returns the columns of a CSV export, which has one line per event. New ones are added at the end.
func Columns() []Column {
	return []Column{
		{"invocation_id", "the call", func(e Entry) string { return string(e.Invocation.Key.ID()) }},
		{"n", "which event of its history, from 1", func(e Entry) string { return strconv.Itoa(e.N) }},
		{"at", "when, in UTC with milliseconds", func(e Entry) string { return stamp(e.At) }},
		{"kind", "what happened", func(e Entry) string { return string(e.Kind) }},
		{"from", "the state before; empty for the first event", func(e Entry) string { return string(e.From) }},
		{"to", "the state after", func(e Entry) string { return string(e.To) }},
		{"by", "who", func(e Entry) string { return e.By }},
		{"proof", "how that was known", func(e Entry) string { return e.Proof }},
		{"reason", "the words given with it", func(e Entry) string { return e.Reason }},
		{"attempt", "how many starts there were by then", func(e Entry) string { return strconv.Itoa(e.Attempt) }},
		{"digest", "SHA-256 that the event vouches for: of the decision or of the result", func(e Entry) string { return e.Digest }},
		{"request", "the function's request that wrote it", func(e Entry) string { return e.RequestID }},
		{"state", "the call's state now", func(e Entry) string { return string(e.Invocation.State) }},
		{"connection", "the connection", func(e Entry) string { return e.Invocation.Connection }},
		{"tool", "the tool as clients see it", func(e Entry) string { return e.Invocation.Tool }},
		{"principal", "who called", func(e Entry) string { return e.Invocation.Principal }},
		{"principal_name", "the same, for people", func(e Entry) string { return e.Invocation.PrincipalName }},
		{"acting_user", "on whose behalf", func(e Entry) string { return e.Invocation.ActingUser }},
		{"effect", "at_most_once or idempotent", func(e Entry) string { return string(e.Invocation.Effect) }},
		{"approval", "never, once or always", func(e Entry) string { return string(e.Invocation.Gate) }},
		{"arguments_sha256", "SHA-256 of the arguments as received", func(e Entry) string { return e.Invocation.ArgsDigest }},
		{"erased_at", "when arguments and result were erased; empty: they were not", erasedAt},
		{"head", "the chain's head after the event", func(e Entry) string { return e.Invocation.Heads()[e.N-1] }},
	}
}

func erasedAt(e Entry) string {
	mark, err := row.ParseErasure(e.Invocation.Erased)
	if err != nil {
		return ""
	}
	return stamp(mark.At)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// WriteCSV writes entries as RFC 4180 has it: a line of column names, CRLF after every line, UTF-8. Line ends inside a cell stay as they
// are stored, which encoding/csv would not leave.
func WriteCSV(w io.Writer, entries []Entry) error {
	out := bufio.NewWriter(w)
	columns := Columns()
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.Name
	}
	writeLine(out, cells)
	for _, e := range entries {
		for i, c := range columns {
			cells[i] = Guard(c.value(e))
		}
		writeLine(out, cells)
	}
	return out.Flush() // keeps the first error
}

func writeLine(out *bufio.Writer, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			out.WriteByte(',')
		}
		if strings.ContainsAny(cell, "\",\r\n") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		out.WriteString(cell)
	}
	out.WriteString("\r\n")
}

// Guard returns cell so that no spreadsheet takes it for a formula: one that begins with = + - @, a tab or a carriage return gets an
// apostrophe before it (U5). Names and reasons come from callers.
func Guard(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
