package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/mark3labs/mcp-go/mcp"
)

// dialReason says why a server could not be reached, and the cure (U9).
func (p peer) dialReason(err error) string {
	var (
		dns      *net.DNSError
		unknown  x509.UnknownAuthorityError
		wrong    x509.HostnameError
		invalid  x509.CertificateInvalidError
		verify   *tls.CertificateVerificationError
		notTLS   tls.RecordHeaderError
		alert    tls.AlertError
		deadline = errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host named %s - check the url in %s", p.url.Hostname(), orFile(p.file))
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s could not be looked up - try again, or check the network", p.url.Hostname())
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s (is the server running?)", p.address())
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("%s is not reachable from here - check the url in %s and the network", p.address(), orFile(p.file))
	case errors.As(err, &unknown):
		return fmt.Sprintf("the certificate of %s is signed by an authority that is not known here", p.host())
	case errors.As(err, &wrong):
		return fmt.Sprintf("the certificate of %s is for another host - check the url in %s", p.host(), orFile(p.file))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s has expired, or is not valid yet - its operator must renew it", p.host())
	case errors.As(err, &invalid), errors.As(err, &verify):
		return fmt.Sprintf("the certificate of %s is not valid", p.host())
	case errors.As(err, &notTLS):
		return fmt.Sprintf("%s does not speak TLS - is it http, not https?", p.host())
	case errors.As(err, &alert):
		return fmt.Sprintf("%s refused the TLS handshake", p.host())
	case deadline:
		return fmt.Sprintf("%s did not take the connection in time - check the url in %s and the network", p.address(), orFile(p.file))
	case errors.Is(err, context.Canceled):
		return "the call was cancelled before a connection to " + p.host() + " was open"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("%s closed the connection before it was ready", p.address())
	}
	return fmt.Sprintf("no connection to %s could be opened", p.address())
}

// refusalReason says what a refusal means and who can cure it.
func (p peer) refusalReason(s seen) string {
	switch s.reply.code {
	case mcp.HEADER_MISMATCH:
		return "the server wants other x-mcp-header parameters than its tool list had when this was deployed - deploy again"
	case mcp.MISSING_REQUIRED_CLIENT_CAPABILITY:
		return "the tool needs a client capability that the gateway does not offer"
	case mcp.METHOD_NOT_FOUND:
		return "the server does not know tools/call"
	case mcp.INVALID_PARAMS:
		return "the server refused the parameters" + p.said(s)
	case mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return "the server no longer speaks the protocol version it had when this was deployed - deploy again"
	}
	switch s.status {
	case http.StatusUnauthorized:
		return fmt.Sprintf("%s did not accept the credential (401) - %s", p.host(), p.credentialCure())
	case http.StatusForbidden:
		return fmt.Sprintf("%s does not allow this (403) - %s", p.host(), p.credentialCure())
	case http.StatusNotFound:
		return fmt.Sprintf("%s has nothing at this path (404) - check the path of the url in %s", p.host(), orFile(p.file))
	case http.StatusMethodNotAllowed:
		return fmt.Sprintf("%s takes no POST at this path (405) - check the path of the url in %s", p.host(), orFile(p.file))
	case http.StatusRequestEntityTooLarge:
		return fmt.Sprintf("%s refuses a request of this size (413)", p.host())
	case http.StatusTooManyRequests:
		return fmt.Sprintf("%s asks for fewer requests (429) - try again later", p.host())
	}
	if s.status != 0 {
		return fmt.Sprintf("%s refused the request (%d)%s", p.host(), s.status, p.said(s))
	}
	return p.host() + " refused the request" + p.said(s)
}

func (p peer) credentialCure() string {
	if p.oauth && p.auth == nil {
		return "sign in again; for a deploy, where nobody is signed in, add discovery: {credential: NAME} to " + orFile(p.file)
	}
	if p.auth == nil {
		return "add auth: to " + orFile(p.file)
	}
	return "store a valid one as " + p.auth.Credential
}

// said repeats the code of a JSON-RPC error. Its message is the server's text and stays out of ours.
func (p peer) said(s seen) string {
	if s.reply.err == nil {
		return ""
	}
	return fmt.Sprintf(" (JSON-RPC error %d)", s.reply.code)
}

// doubtReason says why nobody can know whether the call ran.
func (p peer) doubtReason(s seen) string {
	switch {
	case s.status == 0 && s.flaw != none:
		return string(s.flaw)
	case s.status == 0:
		return "the connection ended after the request was written, without an answer"
	case s.status >= 300 && s.status < 400:
		return fmt.Sprintf("the server answered with a redirect (%d) to %s, which is not followed", s.status, p.redirectHost(s))
	case s.status == http.StatusAccepted:
		return "the server took the request (202) and promised no answer"
	case s.status >= 500 && s.reply.err != nil:
		return fmt.Sprintf("the server answered %d with JSON-RPC error %d", s.status, s.reply.code)
	case s.status >= 400:
		return fmt.Sprintf("the server, or a proxy in front of it, answered %d", s.status)
	case s.reply.code == mcp.INTERNAL_ERROR:
		return fmt.Sprintf("the server reports an internal error (%d)", s.reply.code)
	case s.flaw == unreadable && s.media != "" && s.media != "application/json":
		return fmt.Sprintf("the server answered %d with %s, which is not an MCP answer", s.status, s.media)
	case s.flaw != none:
		return string(s.flaw)
	}
	return fmt.Sprintf("the server answered %d without a result", s.status)
}

// redirect returns where a redirect leads, without user and query, or nil.
func (p peer) redirect(s seen) *url.URL {
	to, err := url.Parse(s.header.Get("Location"))
	if err != nil || s.header.Get("Location") == "" {
		return nil
	}
	to = p.url.ResolveReference(to)
	to.User, to.RawQuery, to.ForceQuery, to.Fragment, to.RawFragment = nil, "", false, "", ""
	return to
}

func (p peer) redirectHost(s seen) string {
	if to := p.redirect(s); to != nil && to.Host != "" {
		return to.Host
	}
	return "another address"
}
