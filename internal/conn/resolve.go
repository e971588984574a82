package conn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/address"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Resolved is what a call needs on the wire. Its URL is not printed or stored either: a variable may have put something into
// it that is known to few.
type Resolved struct {
	URL    string
	Header map[string]secret.Value // by header name; empty when there is no auth
}

// ResolveError says which connection cannot be used and which stored value is the reason. It never holds a value (C8).
type ResolveError struct {
	Connection string
	Path       string // for example credentials/crm/mcp_token or vars/CRM_HOST; empty where it is the URL as a whole
	Reason     string // what is wrong with the value; empty where it could not be read
	Err        error  // why it could not be read; wraps secret.ErrNotFound where nothing is stored
}

// Error names the connection, the path and the reason.
func (e *ResolveError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("connection %s needs %s: %v", e.Connection, e.Path, e.Err)
	case e.Path == "":
		return fmt.Sprintf("connection %s: %s", e.Connection, e.Reason)
	}
	return fmt.Sprintf("connection %s: the value of %s %s", e.Connection, e.Path, e.Reason)
}

// Unwrap returns why the value could not be read.
func (e *ResolveError) Unwrap() error { return e.Err }

// Resolve reads the connection's variables and credential from src and returns what goes on the wire: each ${VAR} is the
// value at vars/VAR, the credential is the value at Auth.Path. The resolved URL obeys the same rules as one in a file (C6).
//
// Its errors are *ResolveError, joined when several values are missing or unfit; errors.Is finds secret.ErrNotFound.
func (c Connection) Resolve(ctx context.Context, src secret.Source) (Resolved, error) {
	var faults []error
	filled, err := c.resolveURL(ctx, src)
	faults = append(faults, err)

	header := map[string]secret.Value{}
	if c.Auth != nil {
		value, err := c.read(ctx, src, c.Auth.Path())
		faults = append(faults, err)
		if err == nil {
			name, wire, err := c.Auth.wire(c.Name, value)
			faults = append(faults, err)
			header[name] = wire
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Resolved{}, err
	}
	return Resolved{URL: filled, Header: header}, nil
}

func (c Connection) resolveURL(ctx context.Context, src secret.Source) (string, error) {
	segments, err := address.Split(c.URL)
	if err != nil {
		return "", &ResolveError{Connection: c.Name, Reason: "url holds " + err.Error()}
	}
	names := address.Variables(segments)
	values := map[string]string{}
	var faults []error
	for _, name := range names {
		value, err := c.read(ctx, src, "vars/"+name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		values[name] = value.Reveal()
	}
	if err := errors.Join(faults...); err != nil {
		return "", err
	}
	filled := address.Fill(segments, func(name string) string { return values[name] })
	for _, f := range address.Check(filled) {
		reason := "url " + f.Message
		if len(names) > 0 {
			reason = "url, with the value of vars/" + strings.Join(names, ", vars/") + ", " + f.Message
		}
		faults = append(faults, &ResolveError{Connection: c.Name, Reason: reason})
	}
	return filled, errors.Join(faults...)
}

// read returns the value at path, which is fit for a URL or a header: one line of visible ASCII without space around it.
func (c Connection) read(ctx context.Context, src secret.Source, path string) (secret.Value, error) {
	value, err := src.Secret(ctx, path)
	if err != nil {
		return secret.Value{}, &ResolveError{Connection: c.Name, Path: path, Err: err}
	}
	if reason := valueFault(value.Reveal()); reason != "" {
		return secret.Value{}, &ResolveError{Connection: c.Name, Path: path, Reason: reason}
	}
	return value, nil
}

// valueFault says why a stored value may not go on the wire, or nothing. Values are never trimmed: the stored one would no
// longer be the one that is sent.
func valueFault(value string) string {
	switch {
	case value == "":
		return "is empty"
	case strings.ContainsAny(value, "\r\n"):
		return "holds a line break, as a value stored with echo does; store it again with printf"
	case strings.ContainsFunc(value, func(r rune) bool { return r > 0x7e || r < ' ' }):
		return "holds characters other than visible ASCII"
	case strings.TrimSpace(value) != value:
		return "begins or ends with a space"
	}
	return ""
}

// wire returns the header that carries the credential.
func (a Auth) wire(connection string, credential secret.Value) (name string, value secret.Value, err error) {
	text := credential.Reveal()
	if a.Type == "header" {
		return a.Header, credential, nil
	}
	// Bearer twice is refused by servers with a bare 401, which nobody could explain.
	if len(text) > len("bearer ") && strings.EqualFold(text[:len("bearer ")], "bearer ") {
		return "", secret.Value{}, &ResolveError{
			Connection: connection, Path: a.Path(), Reason: "begins with Bearer, which type bearer adds; store the token alone",
		}
	}
	return "Authorization", secret.New("Bearer " + text), nil
}
