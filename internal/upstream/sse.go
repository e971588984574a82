package upstream

import (
	"bufio"
	"bytes"
	"io"
)

// events reads a text/event-stream (WHATWG HTML, "Server-sent events"): lines that end in CR LF, LF or CR, comments, data
// over several lines.
type events struct {
	in       *bufio.Reader
	swallow  bool // the last line ended in CR: an LF that follows belongs to it
	anything bool // a line was read
}

func newEvents(r io.Reader) *events { return &events{in: bufio.NewReader(r)} }

// next returns the data of the next event that has any. At the end of the stream it returns what the last, unfinished event
// holds together with io.EOF: a response that is complete is an answer even when the blank line behind it is missing.
func (e *events) next() ([]byte, error) {
	var data []byte
	some := false
	for {
		line, err := e.line()
		if field, value, ok := field(line); ok && field == "data" {
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, value...), true
		}
		if err != nil {
			return data, err
		}
		if len(line) == 0 && some {
			return data, nil
		}
	}
}

// line returns one line without its end. It never waits for the byte behind a CR, which may be long in coming.
func (e *events) line() ([]byte, error) {
	var out []byte
	for {
		if _, err := e.in.Peek(1); err != nil {
			return out, err
		}
		buffered, _ := e.in.Peek(e.in.Buffered()) // what is there cannot fail
		if e.swallow && buffered[0] == '\n' {
			e.swallow = false
			_, _ = e.in.Discard(1)
			continue
		}
		e.swallow = false
		end := bytes.IndexAny(buffered, "\r\n")
		if end < 0 {
			out = append(out, buffered...)
			_, _ = e.in.Discard(len(buffered))
			continue
		}
		out = append(out, buffered[:end]...)
		e.swallow = buffered[end] == '\r'
		_, _ = e.in.Discard(end + 1)
		return e.trim(out), nil
	}
}

// trim removes the byte order mark that may stand before the first line.
func (e *events) trim(line []byte) []byte {
	if !e.anything {
		e.anything = true
		return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

// field splits a line at its first colon. A comment has no field.
func field(line []byte) (name string, value []byte, ok bool) {
	before, after, found := bytes.Cut(line, []byte(":"))
	if len(before) == 0 {
		return "", nil, false
	}
	if !found {
		return string(before), nil, true
	}
	return string(before), bytes.TrimPrefix(after, []byte(" ")), true
}
