package chaos

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// lane is an address of the remote server that one world has for itself and can take down: who dials does not say yet for which run.
type lane struct {
	name     string // of its connection; with "pay" behind it, of the gated one
	variable string // the connection variable that holds its address
	secure   bool

	server   *httptest.Server
	listener *switched
}

// lanesOfAKind is how many runs with a remote that is down may go on at once.
const lanesOfAKind = 3

// openLanes makes the addresses: half are refused while they are down, half break off the TLS handshake.
func (r *Rig) openLanes() error {
	for _, secure := range []bool{false, true} {
		free := make(chan *lane, lanesOfAKind)
		for n := range lanesOfAKind {
			l := &lane{secure: secure}
			name, host := fmt.Sprintf("down%d", n), "127.0.0.2:0" // where nobody else listens meanwhile
			if secure {
				name, host = fmt.Sprintf("downtls%d", n), "127.0.0.1:0" // for which the test certificate is
			}
			l.name, l.variable = name, strings.ToUpper(name)
			inner, err := net.Listen("tcp", host)
			if err != nil {
				return err
			}
			l.listener = &switched{addr: inner.Addr(), inner: inner, answers: secure}
			l.server = httptest.NewUnstartedServer(r.remote)
			_ = l.server.Listener.Close() // its own
			l.server.Listener = l.listener
			if secure {
				l.server.StartTLS()
			} else {
				l.server.Start()
			}
			l.server.Config.ErrorLog = quietLog()
			r.lanes = append(r.lanes, l)
			free <- l
		}
		if secure {
			r.secureLanes = free
		} else {
			r.plainLanes = free
		}
	}
	cert := r.lanes[len(r.lanes)-1].server.Certificate()
	return os.WriteFile(r.roots(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), 0o600)
}

// roots is the file of the certificates that functions trust.
func (r *Rig) roots() string { return filepath.Join(r.dir, "roots.pem") }

func (l *lane) url() string { return l.server.URL + "/mcp" }

// take gives the world a lane for the rest of its run.
func (w *World) take(secure bool) *lane {
	free := w.rig.plainLanes
	if secure {
		free = w.rig.secureLanes
	}
	w.lane = <-free
	return w.lane
}

// giveBack ends the world's use of its lane.
func (w *World) giveBack() {
	switch {
	case w.lane == nil:
	case w.lane.secure:
		w.rig.secureLanes <- w.lane
	default:
		w.rig.plainLanes <- w.lane
	}
}

// down takes the world's lane down, or up again.
func (w *World) down(down bool) {
	if err := w.lane.listener.set(down); err != nil {
		w.fail("the remote's address: %v", err)
	}
}

// switched is a listener that can be down: then nobody listens, or, where it answers, everybody gets a few bytes that are no TLS.
type switched struct {
	addr    net.Addr
	answers bool

	mu     sync.Mutex
	inner  net.Listener // nil while nobody listens
	broken bool
	up     chan struct{} // closed when somebody listens again
	closed bool
}

func (s *switched) set(down bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers {
		s.broken = down
		return nil
	}
	if down && s.inner != nil {
		s.up = make(chan struct{})
		err := s.inner.Close()
		s.inner = nil
		return err
	}
	if !down && s.inner == nil {
		inner, err := net.Listen("tcp", s.addr.String())
		if err != nil {
			return err
		}
		s.inner = inner
		close(s.up)
	}
	return nil
}

func (s *switched) Accept() (net.Conn, error) {
	for {
		s.mu.Lock()
		inner, up, closed := s.inner, s.up, s.closed
		s.mu.Unlock()
		switch {
		case closed:
			return nil, net.ErrClosed
		case inner == nil:
			<-up
			continue
		}
		c, err := inner.Accept()
		s.mu.Lock()
		down, broken := s.inner == nil, s.broken
		s.mu.Unlock()
		switch {
		case err != nil && down:
			continue
		case err == nil && broken:
			_, _ = c.Write([]byte("HTTP/1.0 400 this is no TLS\r\n\r\n"))
			_ = c.Close()
			continue
		}
		return c, err
	}
}

func (s *switched) Addr() net.Addr { return s.addr }

func (s *switched) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.inner == nil {
		close(s.up)
		return nil
	}
	return s.inner.Close()
}

// closeLanes ends them.
func (r *Rig) closeLanes() {
	for _, l := range r.lanes {
		l.server.CloseClientConnections()
		l.server.Close()
	}
}
