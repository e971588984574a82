package functionurl

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Caller is who signed a request to a URL with auth type AWS_IAM, as Lambda verified it.
type Caller struct {
	ARN       string // arn:aws:sts::123456789012:assumed-role/agents/session
	AccountID string
	UserID    string // unique and never reused, unlike the ARN
}

// CallerFrom returns the verified caller of a request whose URL has auth type AWS_IAM (Config.IAM).
func CallerFrom(ctx context.Context) (Caller, bool) {
	in, ok := ctx.Value(arrivalKey{}).(*arrival)
	if !ok || in.caller == nil {
		return Caller{}, false
	}
	return *in.caller, true
}

type arrivalKey struct{}

// arrival is an admitted request: the event as the adapter gets it, and what the adapter would spoil.
type arrival struct {
	event  events.APIGatewayV2HTTPRequest
	header http.Header
	host   string
	remote string
	caller *Caller
}

// admit checks an event and prepares it for the adapter. Everything at which the adapter would fail is refused here, because the
// adapter prints the URL in its errors, and a URL can hold a signed link (U4).
func (h *Handler) admit(event events.APIGatewayV2HTTPRequest) (*arrival, *events.APIGatewayV2HTTPResponse) {
	refuse := func(status int, code, message string) (*arrival, *events.APIGatewayV2HTTPResponse) {
		h.config.Log.Warn("function URL request refused", "function", h.config.Name, "status", status, "reason", message)
		r := refusal(status, code, message)
		return nil, &r
	}
	rc := event.RequestContext
	if h.config.Domain != "" && !sameHost(rc.DomainName, h.config.Domain) {
		return refuse(http.StatusForbidden, "forbidden", "this request was made for another domain") // U6
	}
	in := &arrival{event: event, remote: event.RequestContext.HTTP.SourceIP}
	switch a := rc.Authorizer; {
	case h.config.IAM && (a == nil || a.IAM == nil || a.IAM.UserARN == ""):
		return refuse(http.StatusForbidden, "forbidden", "this URL takes signed requests (AWS_IAM), and this one was not")
	case h.config.IAM:
		in.caller = &Caller{ARN: a.IAM.UserARN, AccountID: a.IAM.AccountID, UserID: a.IAM.UserID}
	case a != nil && (a.IAM != nil || a.JWT != nil || a.Lambda != nil):
		// Nobody signs requests to a URL of auth type NONE: this event was made by hand (U6).
		return refuse(http.StatusForbidden, "forbidden", "this URL has no authorizer, and this request names one")
	}

	if event.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(event.Body)
		if err != nil {
			return refuse(http.StatusBadRequest, "invalid", "the request's body is marked base64 and is not")
		}
		in.event.Body, in.event.IsBase64Encoded = string(body), false
	}
	target := event.RawPath
	if target == "" {
		target = rc.HTTP.Path
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	if event.RawQueryString != "" {
		target += "?" + event.RawQueryString
	}
	// The same parser as the adapter's, on the same text.
	if _, err := http.NewRequest(strings.ToUpper(rc.HTTP.Method), "https://"+rc.DomainName+target, nil); err != nil {
		return refuse(http.StatusBadRequest, "invalid", "the request's method or path cannot be read")
	}

	in.header, in.host = headers(event)
	if net.ParseIP(in.remote) != nil {
		// As net/http has it, so that net.SplitHostPort works; Lambda does not tell the port.
		in.remote = net.JoinHostPort(in.remote, "0")
	}
	return in, nil
}

// headers returns the request's header as net/http would have it, and its Host (U1).
func headers(event events.APIGatewayV2HTTPRequest) (http.Header, string) {
	header := make(http.Header, len(event.Headers))
	for name, value := range event.Headers {
		// Lambda has joined repeated headers with a comma. They stay joined, which HTTP makes equivalent (RFC 9110 section 5.3);
		// splitting is not, because a value may hold a comma of its own.
		header.Set(name, value)
	}
	host := header.Get("Host")
	if host == "" {
		host = event.RequestContext.DomainName
	}
	header.Del("Host")
	if len(event.Cookies) > 0 {
		// The same cookies are usually in headers.cookie too; the list is the one that Lambda documents.
		header.Set("Cookie", strings.Join(event.Cookies, "; "))
	}
	return header, host
}

// restore undoes what the adapter did to the request's header and URL (U1).
func (in *arrival) restore(r *http.Request) {
	r.Header, r.Host, r.RemoteAddr = in.header, in.host, in.remote
	r.URL.Scheme, r.URL.Host = "", ""
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
}

// sameHost compares two hosts without regard to case. A port counts where both have one: locally functions differ by their port,
// and a stand-in may add one that the configuration does not know.
func sameHost(a, b string) bool {
	hostA, portA := splitHost(a)
	hostB, portB := splitHost(b)
	return strings.EqualFold(hostA, hostB) && (portA == portB || portA == "" || portB == "")
}

func splitHost(s string) (host, port string) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return s, ""
	}
	return host, port
}
