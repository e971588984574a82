// Package app builds the functions: it reads the environment once, makes every adapter and gives each Lambda main one
// constructor. Nothing else of the program reads an environment variable.
//
//	func main() {
//		config, err := app.FromEnv(ctx)
//		lambda.Start(app.Must(app.MCP(ctx, config, err)))
//	}
//
// The same constructors run in the local gateway and in tests, with an endpoint, a clock and an upstream of their own:
//
//	c := app.Config{Stage: "dev", AWS: local, Bundle: os.DirFS(dir), Now: clock, Upstream: fake, ...}
//	h, err := app.MCP(ctx, c, nil)
//
// Promises:
//
//	A1  a function that misses a key, a table name or a file of its bundle does not start, and says what is missing and which
//	    command makes it.
//	A2  each function gets the clients its role may use and no others: approve has no upstream and no signing key, notify no
//	    upstream and no client secrets, expire neither.
//	A3  subkeys are derived, never shared: invocation ids and session ids come from different keys of one secret.
package app
