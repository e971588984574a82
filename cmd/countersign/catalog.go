package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/countersign-mcp/countersign/cmd/countersign/present"
	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/catalog/diff"
	"github.com/countersign-mcp/countersign/internal/catalog/lock"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/secret"
)

func catalogCommand() command {
	return command{
		name: "catalog", short: "ask the servers for their tools: build, compare, accept, show",
		usage:   "build [-o FILE] | diff [--against FILE] | accept | show [TOOL]  [--json] [--dir DIR] [--vars FILE | --stage STAGE]",
		example: "countersign catalog diff",
		long: `Asks the server of every connection file of --dir (default: this folder) for its tools, as a deploy does, and calls none of them.

  build        builds the catalog and says what is in it; -o FILE writes it, the same bytes for the same tools
  diff         what is different from connections/catalog.lock.json, or with --against FILE from a catalog that build -o wrote or a
               deploy bundled; ends with 1 when anything is
  accept       writes connections/catalog.lock.json: from then on, build, dev and a deploy stop when a server lists anything else
  show         the tools, one a line; show TOOL prints one of them whole, by the name it is served by

  --json       prints one JSON document instead
  --vars FILE  where variables and credentials are, one NAME=value or credentials/crm/token=value a line
  --stage S    they are read from the Parameter Store of that deployment, with the credentials and region of the environment
               Without both, they are those of the local gateway of --data (default .countersign), which must run if any is needed.

Ends with 1 when a server cannot be asked, a tool cannot be served, or something differs; then nothing is written.`,
		run: runCatalog,
	}
}

// catalogRun is one run of the command.
type catalogRun struct {
	ui
	json    bool
	dir     string
	vars    string
	against string
	out     string
	where   deployment
}

func runCatalog(ctx context.Context, u ui, args []string) error {
	r := catalogRun{ui: u}
	f := flag.NewFlagSet("catalog", flag.ContinueOnError)
	f.BoolVar(&r.json, "json", false, "")
	f.StringVar(&r.dir, "dir", ".", "")
	f.StringVar(&r.vars, "vars", "", "")
	f.StringVar(&r.against, "against", "", "")
	f.StringVar(&r.out, "o", "", "")
	r.where.flags(f)
	rest, err := parse(f, args, 2)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usageError("catalog what? one of build, diff, accept, show")
	}
	verb, rest := rest[0], rest[1:]
	switch {
	case !slices.Contains([]string{"build", "diff", "accept", "show"}, verb):
		return usageError("catalog has no %q; there are build, diff, accept and show", verb)
	case len(rest) > 0 && verb != "show":
		return usageError("unexpected argument %q", rest[0])
	case r.out != "" && verb != "build":
		return usageError("-o belongs to catalog build")
	case r.against != "" && verb != "diff":
		return usageError("--against belongs to catalog diff")
	case r.vars != "" && r.where.stage != "":
		return usageError("--vars and --stage are two places for the same values: give one")
	}
	conns, err := r.connections()
	if err != nil {
		return err
	}
	pinned, err := lock.Read(os.DirFS(r.dir))
	if err != nil {
		return err
	}
	if verb == "diff" {
		return r.diff(ctx, conns, pinned)
	}
	cat, err := r.build(ctx, conns)
	if err != nil {
		return err
	}
	switch verb {
	case "build":
		return r.built(cat, conns, pinned)
	case "accept":
		return r.accept(cat, conns, pinned)
	}
	return r.show(cat, conns, rest)
}

// connections reads the files of the folder. Their problems are shown as check shows them.
func (r catalogRun) connections() ([]conn.Connection, error) {
	root := os.DirFS(r.dir)
	conns, _, problems := app.Check(root)
	if len(problems) == 0 {
		return conns, nil
	}
	if err := conn.Render(r.err, problems, conn.Sources(root, problems), conn.Options{Caret: r.terminal}); err != nil {
		return nil, err
	}
	return nil, errShown
}

// diff compares what the servers list with what is pinned, or with a catalog. It judges nothing, so it also shows what a build would
// refuse.
func (r catalogRun) diff(ctx context.Context, conns []conn.Connection, pinned *lock.Lock) error {
	old, err := r.old(pinned)
	if err != nil {
		return err
	}
	c, err := r.config(ctx)
	if err != nil {
		return err
	}
	listings, err := app.ListTools(ctx, c, conns)
	if err != nil {
		return err
	}
	unlisted := false
	for i, l := range listings {
		if l.Err != nil {
			r.say("%s: cannot be compared: %s", conns[i].File, plain(strings.ReplaceAll(l.Err.Error(), "\n", "; ")))
			unlisted = unlisted || !conns[i].Optional
		}
	}
	changes, _ := old.Drift(conns, listings)
	if err := r.differs(changes); err != nil || !unlisted {
		return err
	}
	return errShown
}

// old is what diff compares with. What is not there is said before any server is asked.
func (r catalogRun) old(pinned *lock.Lock) (*catalog.Catalog, error) {
	switch {
	case r.against == "" && pinned == nil:
		return nil, &failure{code: exitProblems, err: fmt.Errorf("%s does not exist: nothing is pinned", filepath.Join(r.dir, lock.File)),
			hint: "countersign catalog accept pins what the servers list now; --against FILE compares with a catalog"}
	case r.against == "":
		return pinned.Catalog(), nil
	}
	raw, err := os.ReadFile(r.against)
	if err != nil {
		return nil, environment(fmt.Errorf("reading the catalog: %w", err), "")
	}
	old, err := catalog.Decode(raw)
	if err != nil {
		return nil, environment(fmt.Errorf("%s: %w", r.against, err), "countersign catalog build -o FILE writes one")
	}
	return old, nil
}

// build asks the servers.
func (r catalogRun) build(ctx context.Context, conns []conn.Connection) (*catalog.Catalog, error) {
	c, err := r.config(ctx)
	if err != nil {
		return nil, err
	}
	cat, err := app.BuildCatalog(ctx, c, conns)
	var b *catalog.BuildError
	if errors.As(err, &b) && r.json {
		return nil, errors.Join(r.print(map[string]any{"problems": b.Problems}), errShown)
	}
	if errors.Is(err, secret.ErrNotFound) && r.vars == "" && r.where.stage == "" {
		return nil, &failure{code: exitProblems, err: err, hint: "--vars FILE or --stage STAGE says where values are"}
	}
	return cat, err
}

// config says where variables and credentials are read.
func (r catalogRun) config(ctx context.Context) (app.Config, error) {
	if r.where.stage == "" {
		c, err := dev.Values(r.where.data, r.vars)
		return c, environment(err, "")
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err == nil && sdk.Region == "" {
		err = errors.New("no AWS region is set")
	}
	return app.Config{Stage: r.where.stage, AWS: sdk}, environment(err, "set AWS_PROFILE or AWS_REGION")
}

// warn shows what an operator should know, beside the result.
func (r catalogRun) warn(cat *catalog.Catalog) {
	for _, name := range slices.Sorted(maps.Keys(cat.LeftOut)) {
		r.say("left out: %s: %s", plain(name), plain(cat.LeftOut[name]))
	}
	for _, w := range cat.Warnings {
		r.say("warning: %s", plain(w))
	}
}

// built reports, and writes with -o, a catalog that is what was pinned.
func (r catalogRun) built(cat *catalog.Catalog, conns []conn.Connection, pinned *lock.Lock) error {
	if changes := pinned.Compare(cat, conns); len(changes) > 0 {
		if err := r.differs(changes); !errors.Is(err, errShown) {
			return err
		}
		return &failure{code: exitProblems, err: fmt.Errorf("the servers do not list what %s pins", lock.File), hint: acceptHint}
	}
	raw, err := cat.Encode()
	if err != nil {
		return err
	}
	if r.out != "" {
		if err := app.ReplaceFile(r.out, raw); err != nil {
			return environment(err, "")
		}
	}
	b := present.NewBuilt(cat, raw, pinned != nil)
	if r.json {
		return r.print(b)
	}
	r.warn(cat)
	return b.Write(r.ui.out)
}

// show prints the tools, or one of them whole.
func (r catalogRun) show(cat *catalog.Catalog, conns []conn.Connection, args []string) error {
	all := present.Of(cat, conns)
	if len(args) > 0 {
		all = slices.DeleteFunc(all, func(t present.Tool) bool { return t.Name != args[0] })
		if len(all) == 0 {
			return &failure{code: exitProblems, err: fmt.Errorf("no tool is served as %s", args[0]), hint: "countersign catalog show lists them"}
		}
	}
	switch {
	case r.json:
		return r.print(all)
	case len(args) > 0:
		return present.Whole(r.ui.out, all[0])
	}
	r.warn(cat)
	return present.Tools(r.ui.out, all)
}

const acceptHint = "read it; countersign catalog accept pins what they list now"

// differs prints changes. It ends with errShown when there are any.
func (r catalogRun) differs(changes []diff.Change) error {
	if r.json {
		if err := r.print(append([]diff.Change{}, changes...)); err != nil {
			return err
		}
	} else {
		for _, c := range changes {
			fmt.Fprintln(r.ui.out, present.Lines(c.String()))
		}
		fmt.Fprintln(r.ui.out, lock.Summary(changes))
	}
	if len(changes) > 0 {
		return errShown
	}
	return nil
}

// accept writes the lock file.
func (r catalogRun) accept(cat *catalog.Catalog, conns []conn.Connection, pinned *lock.Lock) error {
	now := lock.Of(cat, pinned)
	raw, err := now.Encode()
	if err != nil {
		return err
	}
	file := filepath.Join(r.dir, lock.File)
	if err := app.ReplaceFile(file, raw); err != nil {
		return environment(err, "")
	}
	tools := 0
	for _, c := range now.Connections {
		tools += len(c)
	}
	changes := pinned.Compare(cat, conns)
	if r.json {
		return r.print(map[string]any{"file": file, "connections": len(now.Connections), "tools": tools, "changes": append([]diff.Change{}, changes...)})
	}
	r.warn(cat)
	for _, c := range changes {
		fmt.Fprintln(r.ui.out, present.Lines(c.String()))
	}
	_, err = fmt.Fprintf(r.ui.out, "%s pins %s of %s\n", file, count(tools, "tool"), count(len(now.Connections), "connection"))
	return err
}

func (r catalogRun) print(v any) error {
	e := json.NewEncoder(r.ui.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
