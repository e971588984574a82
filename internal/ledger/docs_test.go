package ledger_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/ledger.md")

const docs = "../../docs/ledger.md"

// TestDocs compares the generated parts of docs/ledger.md with the Go table. Run it with -update after changing the table.
func TestDocs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for name, generate := range map[string]func() string{"transitions": transitions, "cells": cells, "diagram": diagram} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end: "+name+" -->"
		before, rest, ok := strings.Cut(page, begin)
		old, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no part %q", docs, name)
		}
		if now := "\n" + generate() + "\n"; now != old {
			if !*update {
				t.Errorf("%s, part %q differs from the table; run go test ./internal/ledger -run TestDocs -update (-page +table):\n%s", docs, name, cmp.Diff(old, now))
			}
			page = before + begin + now + end + after
		}
	}
	if *update && page != string(b) {
		if err := os.WriteFile(docs, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func target(r ledger.Row) string {
	if r.Ran != "" {
		return string(r.To) + ", or " + string(r.Ran) + " where an earlier start may have run"
	}
	return string(r.To)
}

func from(s ledger.State) string {
	if s == "" {
		return "–"
	}
	return string(s)
}

func transitions() string {
	var b strings.Builder
	b.WriteString("| | kind | from | to | condition | the command brings | who |\n|---|---|---|---|---|---|---|\n")
	for _, r := range ledger.Table() {
		if r.Rule != "" {
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | `%s` | %s | %s |\n", r.Rule, r.Kind, from(r.From), target(r), r.Condition, r.Needs, r.Who)
		}
	}
	return b.String()
}

func cells() string {
	states := append([]ledger.State{""}, ledger.States()...)
	var b strings.Builder
	b.WriteString("| kind |")
	for _, s := range states {
		b.WriteString(" " + from(s) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(states)) + "\n")
	rows := ledger.Table()
	for _, k := range ledger.Kinds() {
		fmt.Fprintf(&b, "| `%s` |", k)
		for _, s := range states {
			i := slices.IndexFunc(rows, func(r ledger.Row) bool { return r.Kind == k && r.From == s })
			if r := rows[i]; r.Rule != "" {
				fmt.Fprintf(&b, " **%s** |", r.Rule)
			} else {
				b.WriteString(" no |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func diagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	seen := map[string]bool{}
	arrow := func(a, z ledger.State, label string) {
		left, line := string(a), ""
		if a == "" {
			left = "[*]"
		}
		if line = fmt.Sprintf("    %s --> %s: %s\n", left, z, label); !seen[line] {
			seen[line] = true
			b.WriteString(line)
		}
	}
	for _, r := range ledger.Table() {
		if r.Rule == "" {
			continue
		}
		label := r.Rule + " " + string(r.Kind)
		arrow(r.From, r.To, label)
		if r.Ran != "" {
			arrow(r.From, r.Ran, label+" (may have run)")
		}
	}
	for _, s := range ledger.States() {
		if s.Terminal() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
	return b.String()
}
