package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// line is one network connection for one request (U1). It never carries a second one, so nothing that happens on it can be
// taken for the outcome of another call.
type line struct {
	conn  net.Conn // what is written and read: TLS where the address says https
	wire  *meter   // below TLS
	limit *io.LimitedReader
	in    *bufio.Reader
	first chan error // one value, when the first byte or the end of the stream arrives
	got   bool       // first was received
}

// meter counts the bytes that left.
type meter struct {
	net.Conn
	left atomic.Int64
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.left.Add(int64(n))
	return n, err
}

const (
	maxHead  = 1 << 20  // status line and headers of an answer
	maxRaw   = 64 << 20 // an answer on the wire, with its chunk marks
	maxWhole = 16 << 20 // an answer after decompression (U6)
)

// dial opens a line, TLS included (U3). It writes nothing that the server could take for a request.
func (p peer) dial(ctx context.Context) (*line, error) {
	config := p.client.config
	ctx, cancel := context.WithTimeout(ctx, config.DialTimeout)
	defer cancel()
	raw, err := config.Dial(ctx, "tcp", p.address())
	if err != nil {
		return nil, err
	}
	l := &line{wire: &meter{Conn: raw}, first: make(chan error, 1)}
	l.conn = l.wire
	if p.url.Scheme == "https" {
		t := config.TLS.Clone()
		t.ServerName = p.url.Hostname()
		t.NextProtos = []string{"http/1.1"}
		secure := tls.Client(l.wire, t)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // the handshake's error is the one that matters
			return nil, err
		}
		l.conn = secure
	}
	l.limit = &io.LimitedReader{R: l.conn, N: maxHead}
	l.in = bufio.NewReader(l.limit)
	go func() {
		_, err := l.in.Peek(1)
		l.first <- err
	}()
	return l, nil
}

// dead reports whether the server closed the line, or spoke before it was asked, since it was opened. A request written to
// such a line might be lost or might be answered by something else; before the first byte it is merely not sent.
func (l *line) dead() bool {
	select {
	case <-l.first:
		l.got = true
		return true
	default:
		return false
	}
}

// exchange writes one request and has read take in the answer. It returns when read did, or at the deadline, or when ctx
// ends; the line is closed then and nothing of it is left running (U4). sent reports whether a byte may have left.
func (l *line) exchange(ctx context.Context, deadline time.Time, request []byte, read func(*line) error) (sent bool, err error) {
	_ = l.conn.SetDeadline(deadline) // an error means that the line is closed, which the write then says
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	before := l.wire.left.Load()
	wrote := make(chan error, 1)
	go func() {
		_, err := l.conn.Write(request)
		if err != nil {
			// A server may refuse a body before it is through, and then close. Its answer is worth a moment.
			_ = l.conn.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
		}
		wrote <- err
	}()

	err = <-l.first
	l.got = true
	if err == nil {
		err = read(l)
	}
	select {
	case failed := <-wrote:
		if failed != nil && err != nil {
			err = failed
		}
		l.hangUp(err != nil)
	default: // still writing: closing ends it, with an error that says nothing
		l.hangUp(true)
		<-wrote
	}
	return l.wire.left.Load() > before, err
}

// hangUp closes the line. After trouble it also takes back what the kernel has not sent yet, so that a request that is being
// called a doubt does not leave later, and it does not wait for a polite end of TLS.
func (l *line) hangUp(trouble bool) {
	if trouble {
		if tcp, ok := l.wire.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // best effort: the close below happens in any case
		}
		_ = l.wire.Close()
		return
	}
	_ = l.conn.Close()
}

// close gives up a line that carried nothing.
func (l *line) close() {
	_ = l.wire.Close()
	if !l.got {
		<-l.first
		l.got = true
	}
}
