package memledger

import (
	"context"
	"errors"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// Covered implements ledger.Store.
func (s *Store) Covered(ctx context.Context, k ledger.Key) (ledger.Invocation, ledger.Grant, error) {
	g, err := s.GetGrant(ctx, k)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return ledger.Invocation{}, ledger.Grant{}, err
	}
	newest, err := s.Newest(ctx, k.Partition)
	if errors.Is(err, ledger.ErrNotFound) {
		return ledger.Invocation{}, g, nil
	}
	return newest, g, err
}
