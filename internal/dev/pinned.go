package dev

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/catalog/lock"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// pinned stops a start whose servers list something else than the lock file beside the connection files, as a deploy does. The demo's
// connections are nobody's to pin.
func (g *Gateway) pinned(conns []conn.Connection) error {
	dir := g.config.Connections
	if filepath.Base(dir) != app.ConnectionsDir {
		return nil // another folder's files have no lock
	}
	l, err := lock.Read(os.DirFS(filepath.Dir(dir)))
	if err != nil || l == nil {
		return err
	}
	var ours []conn.Connection
	for _, c := range conns {
		if strings.HasPrefix(c.File, app.ConnectionsDir+"/") {
			ours = append(ours, c)
		}
	}
	return l.Check(g.Catalog, ours)
}
