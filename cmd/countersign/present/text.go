package present

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Plain spells out what a terminal would not show as a character.
func Plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u{%x}", r)
		}
	}
	return b.String()
}

// Lines is Plain for a text of several lines.
func Lines(s string) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range all {
		all[i] = Plain(l)
	}
	return strings.Join(all, "\n")
}

// Table writes aligned columns.
func Table(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = Plain(c)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return w.Flush()
}

// Count writes 1 connection, 2 connections.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
