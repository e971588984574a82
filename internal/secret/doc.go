// Package secret holds a value that must never be printed, and the one way to get such a value.
//
// It is used wherever a credential, a header value or a key passes through the program:
//
//	v, err := source.Secret(ctx, "credentials/crm/mcp_token")
//	req.Header.Set("Authorization", "Bearer "+v.Reveal())
//
// Promises:
//
//	K1  a Value prints as "[redacted]" through fmt (every verb), encoding/json, encoding text and log/slog.
//	K2  only Reveal returns the text; a search for "Reveal(" finds every place where a secret leaves its wrapper.
//	K3  two values are compared in constant time.
//
// Where the values are kept is left to the adapters (ssmsecret).
package secret
