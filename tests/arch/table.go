package arch

import "strings"

// Package is one line of the table: a package and, unless a longer path is listed too, everything below it.
type Package struct {
	Path string // below the module, for example internal/ledger
	Tier int
	Kit  bool // a test kit: may import "testing", and nothing that is shipped imports it
}

// Edge is an import inside one tier that is allowed all the same.
type Edge struct {
	From, To string // Path of two lines of the table
	Record   string // the decision, below docs/decisions
}

// Ban keeps a foreign module out of all packages but some.
type Ban struct {
	Prefixes []string // of import paths
	MinTier  int      // packages of this tier and above may import it ...
	Only     []string // ... or, when not empty, only these and what is below them
	Why      string
}

// Table is all that Imports needs to know about a module.
type Table struct {
	Module   string
	Packages []Package
	SameTier []Edge
	Bans     []Ban
}

// Tiers that are not part of what is shipped.
const tierTools = 6

// Project is the table of this module.
var Project = Table{
	Module: "github.com/countersign-mcp/countersign",
	Packages: []Package{
		// tier 0: values and rules without a domain
		{Path: "internal/expr", Tier: 0},
		{Path: "internal/fault", Tier: 0},
		{Path: "internal/jsonx", Tier: 0},
		{Path: "internal/secret", Tier: 0},
		{Path: "internal/signurl", Tier: 0},

		// tier 1: the domain, without I/O
		{Path: "internal/catalog", Tier: 1},
		{Path: "internal/conn", Tier: 1},
		{Path: "internal/identity", Tier: 1},
		{Path: "internal/ledger", Tier: 1},
		{Path: "internal/ledger/ledgertest", Tier: 1, Kit: true},
		{Path: "internal/signin", Tier: 1},

		// tier 2: the use cases
		{Path: "internal/gateway", Tier: 2},

		// tier 3: one technology each; adapters do not know each other
		{Path: "internal/bridge", Tier: 3},
		{Path: "internal/functionurl", Tier: 3},
		{Path: "internal/ledger/dynamoledger", Tier: 3},
		{Path: "internal/mcpserver", Tier: 3},
		{Path: "internal/notify", Tier: 3},
		{Path: "internal/secret/ssmsecret", Tier: 3},
		{Path: "internal/signin/dynamosignin", Tier: 3},
		{Path: "internal/telemetry", Tier: 3},
		{Path: "internal/upstream", Tier: 3},
		{Path: "internal/upstream/upstreamtest", Tier: 3}, // no kit: "countersign dev" plays a server with it
		{Path: "internal/web", Tier: 3},

		// tier 4: everything put together, the machine it runs on locally, and the two of them started in one process
		{Path: "internal/app", Tier: 4},
		{Path: "internal/app/apptest", Tier: 4, Kit: true},
		{Path: "internal/dev", Tier: 4},
		{Path: "internal/localaws", Tier: 4},
		{Path: "internal/localaws/awscheck", Tier: 4, Kit: true},

		// tier 5: what is started
		{Path: "cmd", Tier: 5},
		{Path: "functions", Tier: 5},

		// proof and tools: look at everything, are part of nothing
		{Path: "docs", Tier: tierTools, Kit: true},
		{Path: "scripts", Tier: tierTools, Kit: true},
		{Path: "tests", Tier: tierTools, Kit: true},
	},
	SameTier: []Edge{
		{From: "internal/catalog", To: "internal/conn", Record: "0003-catalog-reads-connections.md"},
		{From: "internal/dev", To: "internal/app", Record: "0004-dev-joins-app-and-localaws.md"},
		{From: "internal/dev", To: "internal/localaws", Record: "0004-dev-joins-app-and-localaws.md"},
	},
	Bans: []Ban{
		{
			Prefixes: []string{"github.com/aws/", "github.com/awslabs/"},
			MinTier:  3,
			Why:      "tiers 0 to 2 use no AWS; put the call behind an interface and its adapter in tier 3",
		},
		{
			Prefixes: []string{"github.com/mark3labs/mcp-go"},
			Only:     []string{"internal/mcpserver", "internal/upstream"},
			Why:      "mcp-go is imported by internal/mcpserver and internal/upstream only",
		},
	},
}

// find returns the line of the table with the longest path that is dir or above it.
func (t Table) find(dir string) (Package, bool) {
	var best Package
	found := false
	for _, p := range t.Packages {
		if below(dir, p.Path) && (!found || len(p.Path) > len(best.Path)) {
			best, found = p, true
		}
	}
	return best, found
}

// below reports whether dir is top or a folder inside it.
func below(dir, top string) bool {
	return dir == top || strings.HasPrefix(dir, top+"/")
}
