package model_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// table collects one row for each subtest and logs them when the last one is done, in the order in which they were declared. Each
// line begins with "table: ", which scripts/gotest prints as it is. It has no date: that belongs to whoever keeps it.
type table struct {
	mu   sync.Mutex
	head []string
	rows [][]string
}

// newTable reserves n rows, so that parallel subtests do not change the order; a row that stays empty is left out.
func newTable(t *testing.T, n int, head ...string) *table {
	t.Helper()
	tab := &table{head: head, rows: make([][]string, n)}
	t.Cleanup(func() {
		for _, line := range tab.lines() {
			t.Log("table: " + line)
		}
	})
	return tab
}

func (tab *table) set(i int, cells ...any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	for _, c := range cells {
		tab.rows[i] = append(tab.rows[i], fmt.Sprint(c))
	}
}

func (tab *table) lines() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 0, ' ', 0)
	line := func(cells []string) { _, _ = fmt.Fprintln(w, "| "+strings.Join(cells, "\t | ")+"\t |") } // a Builder does not fail
	rule := make([]string, len(tab.head))
	for i := range rule {
		rule[i] = "---"
	}
	line(tab.head)
	line(rule)
	for _, r := range tab.rows {
		if r != nil {
			line(r)
		}
	}
	_ = w.Flush()
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// thousands groups the digits of a count.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

var highWater = regexp.MustCompile(`VmHWM:\s*(\d+ kB)`)

// peakMemory is the most that this process has had in memory, where the system says so.
func peakMemory() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown here"
	}
	m := highWater.FindSubmatch(status)
	if m == nil {
		return "unknown here"
	}
	return string(m[1])
}

func TestTable(t *testing.T) {
	t.Parallel()
	tab := &table{head: []string{"what", "states"}, rows: make([][]string, 3)}
	tab.set(2, "approve", thousands(1234567))
	tab.set(0, "by policy", thousands(12))
	want := []string{"| what      | states    |", "| ---       | ---       |", "| by policy | 12        |", "| approve   | 1,234,567 |"}
	if got := tab.lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("printed:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
