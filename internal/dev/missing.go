package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// MissingError is returned by Start when connections need variables or credentials that this folder does not have. A deployment
// stores them in the Parameter Store; here they come from Config.Vars.
type MissingError struct {
	Files []string // connection files that need something
	Lines []string // what Config.Vars lacks, each the left side of a line: CRM_REGION, credentials/crm/mcp_token
}

// Error names the files and what they need.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: no value is stored here for %s", strings.Join(e.Files, ", "), strings.Join(e.Lines, ", "))
}

// Unwrap returns secret.ErrNotFound.
func (e *MissingError) Unwrap() error { return secret.ErrNotFound }

// stored asks once for everything that the connections need, so that all that is missing is named at once, with the cure that
// holds on this machine. Optional connections are left to the catalog, which leaves them out.
func stored(ctx context.Context, c app.Config, conns []conn.Connection) error {
	var missing MissingError
	for _, cn := range conns {
		if cn.Optional {
			continue
		}
		asked := &recorder{source: c}
		_, err := cn.Resolve(ctx, asked, nil)
		if _, _, listing := cn.ResolveForDiscovery(ctx, asked); listing != nil {
			err = errors.Join(err, listing)
		}
		if len(asked.missing) == 0 {
			continue // what else is wrong with it, the catalog says
		}
		if !errors.Is(err, secret.ErrNotFound) {
			return err
		}
		missing.Files = append(missing.Files, cn.File)
		for _, path := range asked.missing {
			line := strings.TrimPrefix(path, "vars/")
			if !slices.Contains(missing.Lines, line) {
				missing.Lines = append(missing.Lines, line)
			}
		}
	}
	if len(missing.Files) == 0 {
		return nil
	}
	return &missing
}

// recorder is a source which remembers what it did not have.
type recorder struct {
	source  secret.Source
	missing []string
}

func (r *recorder) Secret(ctx context.Context, path string) (secret.Value, error) {
	v, err := r.source.Secret(ctx, path)
	if errors.Is(err, secret.ErrNotFound) {
		r.missing = append(r.missing, path)
	}
	return v, err
}
