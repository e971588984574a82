package mcpserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// session is what a legacy client said at initialize, carried by the client itself so that any process can read it. It says which
// calls belong together; it is never a credential (M8).
type session struct {
	Version      string `json:"v"`           // negotiated revision
	Capabilities string `json:"c,omitempty"` // digest of the declared capabilities
	Client       string `json:"n,omitempty"` // name and version, self-reported
	Issued       int64  `json:"t"`           // Unix seconds
	Handle       string `json:"h"`           // random: what the gateway knows the session by
}

const (
	sessionLife = 30 * 24 * time.Hour
	maxSession  = 1024 // bytes of the header
	clockSkew   = 5 * time.Minute
)

// sessions signs and reads session ids: base64url(payload) "." base64url(HMAC-SHA-256 over principal, acting user and payload).
type sessions struct {
	key  []byte
	rand io.Reader
}

// The pattern comes first: a lenient base64 decoder would accept several spellings of one id.
var sessionPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$`)

// issue returns the session id for an initialize request that was answered.
func (s sessions) issue(p identity.Principal, m message, now time.Time) (string, error) {
	var handle [16]byte
	if _, err := io.ReadFull(s.rand, handle[:]); err != nil {
		return "", err
	}
	fresh := session{
		Version: mcp.NegotiateLegacyVersion(stringParam(m, "protocolVersion")),
		Issued:  now.Unix(),
		Handle:  hex.EncodeToString(handle[:]),
	}
	if info, ok := m.params.Get("clientInfo"); ok {
		fresh.Client = clientOf(info)
	}
	if capabilities, ok := m.params.Get("capabilities"); ok {
		fresh.Capabilities = jsonx.Digest(capabilities)[:16]
	}
	payload := encode(fresh)
	return base64.RawURLEncoding.EncodeToString(payload) + "." + base64.RawURLEncoding.EncodeToString(s.sign(p, payload)), nil
}

// open reads a session id of this very caller. Any other is ignored by everyone who gets false: a session that no process
// remembers must not end a conversation, as a 404 would.
func (s sessions) open(p identity.Principal, id string, now time.Time) (session, bool) {
	if len(id) > maxSession || !sessionPattern.MatchString(id) {
		return session{}, false
	}
	left, right, _ := strings.Cut(id, ".")
	strict := base64.RawURLEncoding.Strict()
	payload, err := strict.DecodeString(left)
	if err != nil {
		return session{}, false
	}
	mac, err := strict.DecodeString(right)
	if err != nil || !hmac.Equal(mac, s.sign(p, payload)) {
		return session{}, false
	}
	var old session
	if json.Unmarshal(payload, &old) != nil {
		return session{}, false
	}
	issued := time.Unix(old.Issued, 0)
	if now.Before(issued.Add(-clockSkew)) || now.After(issued.Add(sessionLife)) {
		return session{}, false
	}
	return old, true
}

func (s sessions) sign(p identity.Principal, payload []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	for _, field := range [][]byte{[]byte("countersign/session/v1"), []byte(p.ID), []byte(p.ActingUser), payload} {
		var size [8]byte // length-prefixed, so that no field can be moved into its neighbour
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		h.Write(size[:])
		h.Write(field)
	}
	return h.Sum(nil)
}

// clientOf is "name version" of an Implementation object, for people.
func clientOf(info json.RawMessage) string {
	o, err := jsonx.ParseObject(info)
	if err != nil {
		return ""
	}
	name, _ := o.Get("name")
	version, _ := o.Get("version")
	return strings.TrimSpace(clip(text(name)) + " " + clip(text(version)))
}
