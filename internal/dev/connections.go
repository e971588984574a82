package dev

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
)

//go:embed demo/*.yml
var demoFiles embed.FS

// connections reads the connection files, the settings and, when asked, starts the demo server and adds its connections. All
// problems of all files come back at once.
func (g *Gateway) connections(ctx context.Context) ([]conn.Connection, error) {
	var problems conn.Problems
	conns := []conn.Connection{} // not nil: none is a configuration, too
	if dir := g.config.Connections; dir != "" {
		root := os.DirFS(filepath.Dir(dir))
		var read []conn.Connection
		read, problems = conn.Load(root, filepath.Base(dir))
		conns = append(conns, read...)
		if err := g.keepSources(root, conns); err != nil {
			return nil, err
		}
	}
	settings := conn.Settings{Approvers: []conn.Approver{{Name: "you"}}}
	if file := g.config.Settings; file != "" {
		read, more := conn.LoadSettings(os.DirFS(filepath.Dir(file)), filepath.Base(file))
		settings, problems = read, append(problems, more...)
	}
	problems = append(problems, conn.Together(conns, settings)...)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	g.OnceTTL, g.Retention = settings.Limits.OnceTTL, settings.Retention
	for _, a := range settings.Approvers {
		g.Approvers = append(g.Approvers, a.Name)
	}
	if !g.config.Demo {
		return conns, nil
	}
	demo, problems := conn.Load(demoFiles, "demo")
	if err := problems.Err(); err != nil {
		return nil, err
	}
	taken := map[string]string{}
	for _, c := range conns {
		taken[c.Name] = c.File
	}
	for _, c := range demo {
		if file, ok := taken[c.Name]; ok {
			return nil, fmt.Errorf("%s has the name of a demo connection: rename it, or start with --no-demo", file)
		}
	}
	if err := g.startDemo(ctx); err != nil {
		return nil, err
	}
	if err := g.keepSources(demoFiles, demo); err != nil {
		return nil, err
	}
	conns = append(conns, demo...)
	sort.Slice(conns, func(i, j int) bool { return conns[i].Name < conns[j].Name })
	return conns, nil
}

// keepSources remembers the connection files as they are written, for the bundle of the functions.
func (g *Gateway) keepSources(root fs.FS, conns []conn.Connection) error {
	for _, c := range conns {
		src, err := fs.ReadFile(root, c.File)
		if err != nil {
			return err
		}
		g.sources[c.Name] = src
	}
	return nil
}

// ToolLines lists the served tools for a person, one line a connection.
func (g *Gateway) ToolLines() []string {
	named := map[string]conn.Connection{}
	for _, c := range g.app.Connections {
		named[c.Name] = c
	}
	byConnection, waits, withheld := map[string][]string{}, map[string]int{}, map[string]int{}
	searched := false
	for _, t := range g.Catalog.Tools {
		c := named[t.Connection]
		byConnection[t.Connection] = append(byConnection[t.Connection], t.Name)
		if c.MayWait(t.Upstream) {
			waits[t.Connection]++
		}
		if offered, _ := c.OffersTool(t.Upstream, g.config.Context); !offered {
			withheld[t.Connection]++
		} else if c.Discoverable {
			searched = true
		}
	}
	var lines []string
	for name, tools := range byConnection {
		line := strings.Join(tools, ", ")
		if len(tools) > 6 {
			line = strings.Join(tools[:5], ", ") + fmt.Sprintf(" and %d more", len(tools)-5)
		}
		switch waits[name] {
		case 0:
		case len(tools):
			line += "  (waits for a person)"
		default:
			line += fmt.Sprintf("  (%d of %d may wait for a person)", waits[name], len(tools))
		}
		if named[name].Discoverable {
			line += "  (found with " + gateway.SearchTool + ")"
		}
		if n := withheld[name]; n > 0 {
			line += fmt.Sprintf("  (%d withheld: conditions on what is known of this client)", n)
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	if searched {
		lines = append(lines, gateway.SearchTool+", "+gateway.CallTool)
	}
	return append(lines, gateway.AwaitTool)
}

// bootstrap makes spec run a real Lambda binary, with the bundle that a deploy would have put beside it.
func (g *Gateway) bootstrap(spec *lambdahost.Function, name string) error {
	dir := filepath.Join(g.config.Dir, "bundle")
	if err := writeBundle(dir, g.sources, g.State, g.Catalog); err != nil {
		return err
	}
	spec.Bootstrap = filepath.Join(g.config.Bootstraps, name, "bootstrap")
	spec.Output = g.config.Console
	spec.Env = []string{
		"LAMBDA_TASK_ROOT=" + dir, "AWS_ENDPOINT_URL=" + g.AWSEndpoint,
		app.EnvStage + "=" + g.Stage, app.EnvTable + "=" + g.Table,
	}
	if g.config.ConsoleJSON {
		spec.Env = append(spec.Env, app.EnvConsole+"=json")
	}
	return nil
}

// writeBundle lays out connections/, countersign.yml and catalog.json as the deploy does.
func writeBundle(dir string, sources map[string][]byte, state State, c *catalog.Catalog) error {
	if err := os.MkdirAll(filepath.Join(dir, app.ConnectionsDir), 0o700); err != nil {
		return err
	}
	for name, src := range sources {
		if err := writeFile(filepath.Join(dir, app.ConnectionsDir, name+".yml"), src); err != nil {
			return err
		}
	}
	var settings strings.Builder
	settings.WriteString("approvers:\n")
	for _, a := range state.Approvers {
		quoted, err := json.Marshal(a)
		if err != nil {
			return err
		}
		fmt.Fprintf(&settings, "  - name: %s\n    channel: console\n", quoted)
	}
	if state.OnceTTL > 0 {
		fmt.Fprintf(&settings, "limits: {once_ttl: %s}\n", days(state.OnceTTL))
	}
	if state.Retention > 0 {
		fmt.Fprintf(&settings, "retention: %s\n", days(state.Retention))
	}
	if err := writeFile(filepath.Join(dir, app.SettingsFile), []byte(settings.String())); err != nil {
		return err
	}
	raw, err := c.Encode()
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, app.CatalogFile), raw)
}

// days writes a duration in the form of countersign.yml.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	return fmt.Sprintf("%dd%ds", d/day, d%day/time.Second)
}
