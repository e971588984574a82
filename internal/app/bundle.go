package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// The files of a bundle.
const (
	ConnectionsDir = "connections"
	SettingsFile   = "countersign.yml"
	CatalogFile    = "catalog.json"
)

// bundle is what was deployed beside the binary.
type bundle struct {
	connections []conn.Connection
	approvers   []string
	catalog     *catalog.Catalog
	onceTTL     time.Duration // 0: the gateway's default
	retention   time.Duration // 0: the ledger's default
}

// Check reads the connection files and countersign.yml of a folder and checks them, and what they say of each other. All problems
// come back at once, in the order of their place.
func Check(root fs.FS) ([]conn.Connection, conn.Settings, conn.Problems) {
	conns, problems := conn.Load(root, ConnectionsDir)
	settings, more := conn.LoadSettings(root, SettingsFile)
	problems = slices.Concat(problems, more, conn.Together(conns, settings))
	slices.SortStableFunc(problems, func(a, b conn.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return conns, settings, problems
}

// connectionsAndApprovers reads and checks the files once more at cold start, where the check can only confirm what the deploy
// found (A1).
func (c Config) connectionsAndApprovers() (bundle, error) {
	b := bundle{connections: c.Connections, approvers: c.Approvers, catalog: c.Catalog, onceTTL: c.OnceTTL, retention: c.Retention}
	if b.connections != nil && b.approvers != nil {
		return b, nil
	}
	if c.Bundle == nil {
		return b, errors.New("no folder with connections/ and countersign.yml is deployed beside the function")
	}
	conns, settings, problems := Check(c.Bundle)
	if err := problems.Err(); err != nil {
		return b, fmt.Errorf("the deployed files have problems, countersign check shows them: %w", err)
	}
	b.onceTTL, b.retention = cmp.Or(b.onceTTL, settings.Limits.OnceTTL), cmp.Or(b.retention, settings.Retention)
	if b.connections == nil {
		b.connections = conns
	}
	if b.approvers == nil {
		for _, a := range settings.Approvers {
			b.approvers = append(b.approvers, a.Name)
		}
	}
	return b, nil
}

// settingsAlone reads countersign.yml and nothing else: what the expire function, which knows no connections, has to honour.
func (c Config) settingsAlone() (bundle, error) {
	b := bundle{retention: c.Retention}
	if c.Bundle == nil || b.retention != 0 {
		return b, nil
	}
	settings, problems := conn.LoadSettings(c.Bundle, SettingsFile)
	if err := problems.Err(); err != nil {
		return b, fmt.Errorf("the deployed file has problems, countersign check shows them: %w", err)
	}
	b.retention = settings.Retention
	return b, nil
}

// withCatalog adds the catalog that the deploy built.
func (c Config) withCatalog() (bundle, error) {
	b, err := c.connectionsAndApprovers()
	if err != nil || b.catalog != nil {
		return b, err
	}
	raw, err := fs.ReadFile(c.Bundle, CatalogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return b, fmt.Errorf("%s is not in the bundle: the deploy builds it", CatalogFile)
	}
	if err != nil {
		return b, fmt.Errorf("reading %s: %w", CatalogFile, err)
	}
	if b.catalog, err = catalog.Decode(raw); err != nil {
		return b, fmt.Errorf("reading %s: %w", CatalogFile, err)
	}
	return b, nil
}

// approversOf returns who may decide calls of a connection: those it names, or all.
func (b bundle) approversOf(connection string) []string {
	for _, c := range b.connections {
		if c.Name == connection && len(c.Approvers) > 0 {
			return c.Approvers
		}
	}
	return b.approvers
}
