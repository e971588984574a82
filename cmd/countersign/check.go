package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/conn"
)

func checkCommand() command {
	return command{
		name: "check", short: "check the connection files and countersign.yml", usage: "[--json] [DIR] | --schema", example: "countersign check",
		long: `Checks connections/*.yml and countersign.yml of DIR (default: this folder) without asking any server. All problems of all files are
printed at once, one a line: file, line, column, what is wrong, the cure, and the rule's name, which docs/connections.md explains.
On a terminal the line of each problem follows, with a mark below the place; --json prints the problems as data. Ends with 1 when there
are problems.

--schema checks nothing: it prints the JSON Schema of a connection file, with which an editor completes and checks while you type.`,
		run: runCheck,
	}
}

func runCheck(_ context.Context, u ui, args []string) error {
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "")
	schema := fs.Bool("schema", false, "")
	rest, err := parse(fs, args, 1)
	if err != nil {
		return err
	}
	if *schema {
		if *asJSON || len(rest) > 0 {
			return usageError("--schema stands alone: it is the same for every folder")
		}
		text, err := conn.Schema()
		if err != nil {
			return err
		}
		_, err = u.out.Write(text)
		return err
	}
	dir := "."
	if len(rest) == 1 {
		dir = rest[0]
	}
	root := os.DirFS(dir)
	conns, _, problems := app.Check(root)
	if *asJSON {
		if err := printProblems(u, problems); err != nil {
			return err
		}
	} else if err := conn.Render(u.out, problems, conn.Sources(root, problems), conn.Options{Caret: shownAtTerminal(u)}); err != nil {
		return err
	}
	if len(problems) > 0 {
		return errShown
	}
	if !*asJSON {
		_, err = fmt.Fprintf(u.out, "%s: no problems\n", count(len(conns), "connection"))
	}
	return err
}

// shownAtTerminal reports whether a person reads stdout, where problems go: what is kept in a file or piped has one line a problem.
func shownAtTerminal(u ui) bool {
	f, ok := u.out.(*os.File)
	return ok && isTerminal(f)
}

func printProblems(u ui, problems conn.Problems) error {
	type row struct {
		File    string `json:"file"`
		Line    int    `json:"line,omitempty"`
		Column  int    `json:"column,omitempty"`
		Rule    string `json:"rule"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	rows := make([]row, 0, len(problems))
	for _, p := range problems {
		rows = append(rows, row{p.File, p.Line, p.Column, string(p.Rule), p.Message, p.Hint})
	}
	enc := json.NewEncoder(u.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rows)
}
