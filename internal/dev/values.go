package dev

import (
	"context"
	"errors"
	"io/fs"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Values returns a configuration with which a catalog can be built on this machine: with the variables and credentials of the file vars, or,
// where vars is empty, with those of the gateway that runs on the data folder dir. A folder on which none has run has no values.
func Values(dir, vars string) (app.Config, error) {
	if vars != "" {
		values, err := readVars(vars)
		if err != nil {
			return app.Config{}, err
		}
		return app.Config{Stage: stage, Values: given(values)}, nil
	}
	state, err := ReadState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return app.Config{Stage: stage, Values: given{}}, nil
	}
	if err != nil {
		return app.Config{}, err
	}
	sdk := app.LocalAWS(state.AWSEndpoint)
	sdk.RetryMaxAttempts = 2
	return app.Config{Stage: state.Stage, AWS: sdk}, nil
}

// given are values by path.
type given map[string]string

// Secret implements secret.Source.
func (g given) Secret(_ context.Context, path string) (secret.Value, error) {
	v, ok := g[path]
	if !ok {
		return secret.Value{}, secret.ErrNotFound
	}
	return secret.New(v), nil
}
