package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// layer is one kind of test that may find a mutation.
type layer struct {
	name string
	test []string // arguments of go test; none: the rig
}

// layers returns all of them, the quickest first.
func layers() []layer {
	return []layer{
		{"ledger", []string{"./internal/ledger/..."}},
		{"gateway", []string{"./internal/gateway/..."}},
		{"upstream", []string{"./internal/upstream/..."}},
		{"model", []string{"./tests/model"}},
		{"chaos", nil},
	}
}

// TryMutations builds this command and the functions with each mutation (all, or those named) and expects that something is violated:
// one layer's word is enough, unless every is set: then all layers are asked, and a Markdown table says which finds what. It returns how
// many nothing found.
func TryMutations(ctx context.Context, out io.Writer, names []string, every bool) (missed int, err error) {
	root, err := moduleRoot()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(Mutations(), func(m Mutation) bool { return m.Name == name }) {
			return 0, fmt.Errorf("there is no mutation %q", name)
		}
	}
	if every { // a test that fails anyhow finds nothing
		for _, l := range layers() {
			if l.test == nil {
				continue
			}
			switch by, err := lookWith(ctx, root, "", l.test); {
			case err != nil:
				return 0, err
			case by != "":
				return 0, fmt.Errorf("%s fails without any mutation (%s), so its word would mean nothing: mend that first", by, strings.Join(l.test, " "))
			}
		}
	}
	var table []string
	for _, m := range Mutations() {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		began := time.Now()
		found, err := m.try(ctx, root, every)
		if err != nil {
			return missed, err
		}
		fmt.Fprintf(out, "mutation %s: %s\n", m.Name, m.Rule)
		row, caught := "| `"+m.Name+"` | "+m.Rule+" |", false
		for _, l := range layers() {
			by := found[l.name]
			if caught = caught || by != ""; by != "" {
				fmt.Fprintf(out, "  found by %s: %s\n", l.name, by)
				by = "`" + short(by) + "`"
			}
			row += " " + by + " |"
		}
		if !caught {
			missed++
			fmt.Fprintln(out, "  found by NOTHING")
		}
		fmt.Fprintf(out, "  in %v\n", time.Since(began).Round(time.Second))
		table = append(table, row)
	}
	if every {
		head, line := "| mutation | what is broken |", "|---|---|"
		for _, l := range layers() {
			head, line = head+" "+l.name+" |", line+"---|"
		}
		fmt.Fprintf(out, "\n%s\n%s\n%s\n\n", head, line, strings.Join(table, "\n"))
	}
	fmt.Fprintf(out, "measure: chaos mutations missed %d\n", missed)
	return missed, nil
}

// promise finds the promise that a violation names.
var promise = regexp.MustCompile(`\bK\d+\b`)

// short is what a table says of a test or a violation.
func short(by string) string {
	if k := promise.FindString(by); k != "" && strings.HasPrefix(by, "VIOLATION") {
		return k
	}
	name, _, _ := strings.Cut(by, " (")
	name, _, _ = strings.Cut(name, "/")
	return name
}

// try returns what found the mutation, by layer.
func (m Mutation) try(ctx context.Context, root string, every bool) (map[string]string, error) {
	dir, err := os.MkdirTemp("", "countersign-mutation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, l := range layers() {
		rig := l.test == nil
		switch {
		case rig && m.Look == "":
			continue
		case !every && rig != (m.Look != ""), !every && !rig && !slices.Contains(l.test, m.Test):
			continue
		}
		by := ""
		if rig {
			by, err = m.look(ctx, root, dir, overlay)
		} else {
			by, err = lookWith(ctx, root, overlay, l.test)
		}
		if err != nil {
			return nil, err
		}
		found[l.name] = by
	}
	return found, nil
}

// look lets the rig look.
func (m Mutation) look(ctx context.Context, root, dir, overlay string) (string, error) {
	bin := filepath.Join(dir, "chaos")
	if err := goBuild(root, bin, "./tests/chaos/run", overlay); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, bin, append(strings.Fields(m.Look), "-stop", "-overlay", overlay)...)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "VIOLATION") {
			return line, nil
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 1 {
		return "", fmt.Errorf("mutation %s: %w\n%s", m.Name, err, text)
	}
	return "", nil
}

// lookWith lets the tests of packages look.
func lookWith(ctx context.Context, root, overlay string, packages []string) (string, error) {
	args := []string{"test", "-failfast"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	if err == nil {
		return "", nil
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, text)
}
