package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/catalog/diff"
	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

// RelistEvent is what a daily rule sends to the mcp function.
func RelistEvent() []byte { return []byte(`{"countersign":"` + eventRelist + `"}`) }

// The messages of the log lines of a listing, which alarms and searches go by.
const (
	logDrift    = "catalog drift"    // one tool differs from what is served
	logRelisted = "catalog relisted" // the whole listing, with its counts
	logUnlisted = "catalog unlisted" // a connection could not be asked, so nothing is known of its tools
)

// Drift is what a listing found. It changes nothing that is served: a deploy does, after a person has read the difference.
type Drift struct {
	Added    int `json:"drift_added"`
	Removed  int `json:"drift_removed"`
	Changed  int `json:"drift_changed"`
	Unlisted int `json:"drift_unlisted"` // connections that could not be asked
	Tools    int `json:"tools"`          // that were compared
}

// relistMargin is left of the function's time for the log lines.
const relistMargin = 5 * time.Second

// relist asks every server again and logs how its list differs from what is deployed. An outage is no drift.
func (c Config) relist(ctx context.Context, b bundle) (Drift, error) {
	o := c.discovery()
	if end, bounded := ctx.Deadline(); bounded {
		o.Deadline = max(time.Until(end)-relistMargin, time.Second)
	}
	listings := catalog.List(ctx, b.connections, o)
	changes, compared := b.catalog.Drift(b.connections, listings)
	n := diff.Count(changes)
	found := Drift{Added: n[diff.Added], Removed: n[diff.Removed], Changed: n[diff.Changed], Tools: compared}
	for _, l := range listings {
		if l.Err != nil {
			found.Unlisted++
			c.Log.WarnContext(ctx, logUnlisted, "connection", l.Connection, "reason", l.Err.Error())
		}
	}
	for _, d := range changes {
		c.Log.WarnContext(ctx, logDrift, "connection", d.Connection, "tool", text.Short(d.Tool), "change", d.Kind, "where", places(d))
	}
	level := slog.LevelInfo
	if len(changes)+found.Unlisted > 0 {
		level = slog.LevelWarn
	}
	c.Log.Log(ctx, level, logRelisted, "drift_added", found.Added, "drift_removed", found.Removed, "drift_changed", found.Changed,
		"drift_unlisted", found.Unlisted, "tools", found.Tools)
	return found, nil
}

// places names the parts of a definition that changed. Their texts stay out of the log: they are a stranger's, and long.
func places(c diff.Change) string {
	if c.Kind != diff.Changed {
		return ""
	}
	var all []string
	for _, p := range c.Parts {
		all = append(all, p.Where)
	}
	return strings.Join(slices.Compact(all), ", ")
}
