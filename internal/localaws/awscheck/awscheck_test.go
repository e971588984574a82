package awscheck_test

import (
	"net/http/httptest"
	"os"
	"testing"

	"github.com/countersign-mcp/countersign/internal/localaws"
	"github.com/countersign-mcp/countersign/internal/localaws/awscheck"
)

// TestEndpoint holds AWS_ENDPOINT_URL, or an in-process stand-in, against what AWS documents.
func TestEndpoint(t *testing.T) {
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		awscheck.Run(t, endpoint)
		return
	}
	server, err := localaws.Open(localaws.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		listener.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	awscheck.Run(t, listener.URL)
}
