package memledger_test

import (
	"testing"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
)

func TestStore(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(testing.TB) ledger.Store { return memledger.New() })
}
