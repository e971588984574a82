package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/address"
	"github.com/countersign-mcp/countersign/internal/expr"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Auth says how the gateway authenticates to the remote server.
type Auth struct {
	Type       string // "bearer" or "header"
	Credential string // the path as written, for example crm.mcp_token
	Header     string // the header's name where Type is "header", otherwise empty
}

// Path returns where the credential is stored below the deployment's prefix: "credentials/crm/mcp_token" for the credential
// crm.mcp_token.
func (a Auth) Path() string {
	return "credentials/" + strings.ReplaceAll(a.Credential, ".", "/")
}

// Resolved is what a call needs on the wire. Its URL is not printed or stored either: a variable may have put something into
// it that is known to few.
type Resolved struct {
	URL    string
	Header map[string]secret.Value // by header name: that of auth and those of headers
}

// ResolveError says which connection cannot be used and which value is the reason. It never holds a value (W3).
type ResolveError struct {
	Connection string
	Path       string // for example credentials/crm/mcp_token or vars/CRM_HOST; empty where it is no stored value
	Context    string // the member of context that a call lacks, or that is unfit: context.user_id; empty where it is none
	Reason     string // what is wrong with the value; empty where it could not be read
	Err        error  // why it could not be read; wraps secret.ErrNotFound where nothing is stored
}

// Error names the connection, the path and the reason.
func (e *ResolveError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("connection %s needs %s: %v", e.Connection, e.Path, e.Err)
	case e.Context != "":
		return fmt.Sprintf("connection %s: %s %s", e.Connection, e.Context, e.Reason)
	case e.Path == "":
		return fmt.Sprintf("connection %s: %s", e.Connection, e.Reason)
	}
	return fmt.Sprintf("connection %s: the value of %s %s", e.Connection, e.Path, e.Reason)
}

// Unwrap returns why the value could not be read.
func (e *ResolveError) Unwrap() error { return e.Err }

// Request is what of a connection decides about the address and the headers of its requests.
type Request struct {
	Connection string
	URL        string            // as written; may hold ${VAR}
	Auth       *Auth             // nil: no credential
	Headers    map[string]string // by name; may hold ${VAR} and ${context.path}
	Cure       string            // what to do about a member of context that is missing or unfit; may be empty
}

// Resolve reads the variables and the credential of a request and credential from src and returns what goes on the wire: each ${VAR} is the
// value at vars/VAR, each ${context.path} the member of context, the credential is the value at Auth.Path. The resolved URL obeys
// the same rules as one in a file (W1). A member that is missing, null or unfit for a header is an error: nothing is sent without
// what the file says belongs to it (W2).
//
// Its errors are *ResolveError, joined when several values are missing or unfit; errors.Is finds secret.ErrNotFound.
func Resolve(ctx context.Context, src secret.Source, c Request, values map[string]any) (Resolved, error) {
	in := resolution{request: c, source: src, context: values, read: map[string]secret.Value{}}
	filled := in.url(ctx)
	header := map[string]secret.Value{}
	if c.Auth != nil {
		if value, ok := in.secret(ctx, c.Auth.Path()); ok {
			name, wire, err := c.Auth.header(c.Connection, value)
			in.fault(err)
			header[name] = wire
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if value, ok := in.header(ctx, name, c.Headers[name]); ok {
			header[name] = value
		}
	}
	if err := errors.Join(in.faults...); err != nil {
		return Resolved{}, err
	}
	return Resolved{URL: filled, Header: header}, nil
}

// resolution is one Resolve. Each stored value is read once and each fault is said once, however often it is named.
type resolution struct {
	request Request
	source  secret.Source
	context map[string]any
	read    map[string]secret.Value // by path; the zero value for one that could not be read
	faults  []error
}

func (in *resolution) fault(err error) {
	if err != nil {
		in.faults = append(in.faults, err)
	}
}

// secret returns the value at path, which is fit for a URL or a header: one line of visible ASCII without space around it.
func (in *resolution) secret(ctx context.Context, path string) (secret.Value, bool) {
	if value, done := in.read[path]; done {
		return value, value.Reveal() != ""
	}
	in.read[path] = secret.Value{}
	value, err := in.source.Secret(ctx, path)
	if err != nil {
		in.fault(&ResolveError{Connection: in.request.Connection, Path: path, Err: err})
		return secret.Value{}, false
	}
	if reason := valueFault(value.Reveal()); reason != "" {
		in.fault(&ResolveError{Connection: in.request.Connection, Path: path, Reason: reason})
		return secret.Value{}, false
	}
	in.read[path] = value
	return value, true
}

func (in *resolution) url(ctx context.Context) string {
	c := in.request
	segments, err := address.Split(c.URL)
	if err != nil {
		in.fault(&ResolveError{Connection: c.Connection, Reason: "url holds " + err.Error()})
		return ""
	}
	names := address.Variables(segments)
	complete := true
	for _, name := range names {
		if _, ok := in.secret(ctx, "vars/"+name); !ok {
			complete = false
		}
	}
	if !complete {
		return ""
	}
	filled := address.Fill(segments, func(name string) string { return in.read["vars/"+name].Reveal() })
	for _, f := range address.Check(filled) {
		reason := "url " + f.Message
		if len(names) > 0 {
			reason = "url, with the value of vars/" + strings.Join(names, ", vars/") + ", " + f.Message
		}
		in.fault(&ResolveError{Connection: c.Connection, Reason: reason})
	}
	return filled
}

// maxHeaderValue is how long a header's value may be. Servers refuse longer ones with a bare 431, which nobody could explain.
const maxHeaderValue = 4 << 10

// header renders one header. Every member of context is judged by itself first, so that the error names the member and not the
// header alone.
func (in *resolution) header(ctx context.Context, name, text string) (secret.Value, bool) {
	c := in.request
	template, err := expr.ParseTemplate(text, expr.VariablesAndContext)
	if err != nil {
		in.fault(&ResolveError{Connection: c.Connection, Reason: "headers." + name + ": " + err.Error()})
		return secret.Value{}, false
	}
	complete := true
	for _, variable := range template.Vars() {
		if _, ok := in.secret(ctx, "vars/"+variable); !ok {
			complete = false
		}
	}
	for _, path := range template.ContextPaths() {
		if reason := in.memberFault(path); reason != "" {
			reason += " for the header " + name
			if c.Cure != "" {
				reason += "; " + c.Cure
			}
			in.fault(&ResolveError{Connection: c.Connection, Context: path, Reason: reason})
			complete = false
		}
	}
	if !complete {
		return secret.Value{}, false
	}
	value, err := template.Render(func(variable string) (string, bool) { return in.read["vars/"+variable].Reveal(), true }, in.context)
	switch {
	case err != nil: // every part was judged above
		in.fault(&ResolveError{Connection: c.Connection, Reason: "headers." + name + ": " + err.Error()})
	case len(value) > maxHeaderValue:
		in.fault(&ResolveError{Connection: c.Connection, Reason: fmt.Sprintf("headers.%s, with its values, is longer than %d characters", name, maxHeaderValue)})
	case Unfit(value) != "":
		in.fault(&ResolveError{Connection: c.Connection, Reason: "headers." + name + " " + Unfit(value)})
	default:
		return secret.New(value), true
	}
	return secret.Value{}, false
}

// memberFault says why a member of context may not go into a header, or nothing.
func (in *resolution) memberFault(path string) string {
	member, err := expr.ParseTemplate("${"+path+"}", expr.VariablesAndContext)
	if err != nil {
		return "cannot be read"
	}
	value, err := member.Render(nil, in.context)
	var missing *expr.MissingError
	var unfit *expr.UnfitError
	switch {
	case errors.As(err, &missing) && missing.Null:
		return "is null, and is needed"
	case errors.As(err, &missing):
		return "is missing, and is needed"
	case errors.As(err, &unfit):
		return unfit.Reason + ", which is unfit"
	case err != nil:
		return "cannot be rendered"
	case value == "":
		return "is empty, and is needed"
	}
	if reason := Unfit(value); reason != "" {
		return reason + ", which is unfit"
	}
	return ""
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

// header returns the header that carries the credential.
func (a Auth) header(connection string, credential secret.Value) (name string, value secret.Value, err error) {
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

// Unfit says why a text may not stand in a header, whatever takes the place of its placeholders, or nothing.
func Unfit(text string) string {
	switch {
	case strings.ContainsAny(text, "\r\n"):
		return "holds a line break, which would begin another header"
	case strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e || r < ' ' }):
		return "holds characters other than visible ASCII"
	case strings.TrimSpace(text) != text:
		return "begins or ends with a space"
	}
	return ""
}
