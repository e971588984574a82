package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// BuildCatalog asks every connection's server for its tools. It fails loud: the error names each connection that cannot be served
// and the cure.
func BuildCatalog(ctx context.Context, c Config, conns []conn.Connection) (*catalog.Catalog, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return catalog.Build(ctx, conns, c.discovery())
}

// ListTools asks every connection's server for its tools and judges nothing.
func ListTools(ctx context.Context, c Config, conns []conn.Connection) ([]catalog.Listing, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return catalog.List(ctx, conns, c.discovery()), nil
}

// discovery is how servers are asked for their tools.
func (c Config) discovery() catalog.Options {
	o := catalog.Options{Discover: discoverer{c}, Secrets: c.Values}
	if o.Secrets == nil {
		o.Secrets = c.secrets()
	}
	return o
}

// discoverer asks with the same client that calls will use.
type discoverer struct{ config Config }

// Discover implements catalog.Discoverer.
func (d discoverer) Discover(ctx context.Context, cn conn.Connection, r conn.Resolved) (catalog.Discovery, error) {
	client, ok := d.config.upstream()(cn).(catalog.Discoverer)
	if !ok {
		return catalog.Discovery{}, fmt.Errorf("the upstream client of %s cannot list tools", cn.Name)
	}
	return client.Discover(ctx, cn, r)
}

// ReplaceFile writes a file whole or not at all: half a catalog serves nothing, and half a lock stops every deploy.
func ReplaceFile(name string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// PublishURLs stores where the functions are, which they read at cold start.
func PublishURLs(ctx context.Context, c Config, mcp, approve string) error {
	client := ssm.NewFromConfig(c.AWS)
	for path, value := range map[string]string{urlMCP: mcp, urlApprove: approve} {
		if err := PutParameter(ctx, client, c.Prefix()+"/"+path, value, types.ParameterTypeString, true); err != nil {
			return err
		}
	}
	return nil
}
