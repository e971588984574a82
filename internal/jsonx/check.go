package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound one JSON text. A zero field takes its default, a negative field
// lifts that bound.
type Limits struct {
	// Bytes is the length of the whole text. Default 6 MiB, the most that one
	// Lambda request or answer can carry.
	Bytes int
	// Depth is how many objects and arrays may be open at once. Default 64.
	Depth int
	// Tokens counts names, scalars and the four kinds of brackets. Default 200,000.
	Tokens int
	// NumberLen is the length of one number in bytes. Default 64.
	NumberLen int
}

func (l Limits) resolved() Limits {
	pick := func(value, standard int) int {
		switch {
		case value == 0:
			return standard
		case value < 0:
			return math.MaxInt
		}
		return value
	}
	return Limits{
		Bytes:     pick(l.Bytes, 6<<20),
		Depth:     pick(l.Depth, 64),
		Tokens:    pick(l.Tokens, 200_000),
		NumberLen: pick(l.NumberLen, 64),
	}
}

// unlimited is for texts whose bounds were judged when they were received. The
// parser's own nesting bound of 10,000 still holds, and nothing recurses.
var unlimited = Limits{Bytes: -1, Depth: -1, Tokens: -1, NumberLen: -1}

// SyntaxError says why a text is refused and where.
type SyntaxError struct {
	Offset  int64  // bytes from the start of the text to the trouble
	Message string // a lower-case phrase; names are quoted in ASCII, values never appear
}

// Error returns the message with the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Message, e.Offset)
}

func refuse(offset int64, format string, args ...any) error {
	return &SyntaxError{Offset: offset, Message: fmt.Sprintf(format, args...)}
}

// Check reports whether data is one JSON value that every parser reads alike and
// that stays within l (J1, J2). The error is a *[SyntaxError].
func Check(data []byte, l Limits) error {
	l = l.resolved()
	if len(data) > l.Bytes {
		return refuse(int64(l.Bytes), "the text is longer than %d bytes", l.Bytes)
	}
	d := decoder(data)
	for tokens := 1; ; tokens++ {
		token, err := d.ReadToken()
		if err != nil {
			return explain(err, d.InputOffset())
		}
		at := d.InputOffset()
		if tokens > l.Tokens {
			return refuse(at, "more than %d tokens", l.Tokens)
		}
		switch token.Kind() {
		case '{', '[':
			if d.StackDepth() > l.Depth {
				return refuse(at-1, "nested deeper than %d levels", l.Depth)
			}
		case '0':
			if n := len(token.String()); n > l.NumberLen {
				return refuse(at-int64(n), "a number of %d characters, more than %d", n, l.NumberLen)
			}
		}
		if d.StackDepth() == 0 {
			return onlySpaceFollows(d)
		}
	}
}

// decoder reads data in place. jsontext refuses duplicate names and invalid UTF-8,
// lone surrogates included, unless told otherwise (J1).
func decoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data))
}

// onlySpaceFollows upholds the last part of J1: a second value would be seen by
// one parser and not by the next.
func onlySpaceFollows(d *jsontext.Decoder) error {
	at := d.InputOffset()
	_, err := d.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return refuse(at, "something follows the value")
	}
	return refuse(at, "something follows the value: %s", reason(err))
}

func explain(err error, at int64) error {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		if errors.Is(err, io.EOF) {
			return refuse(at, "no value")
		}
		return refuse(at, "%s", reason(err))
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return refuse(syntactic.ByteOffset, "duplicate member name %s", quote(syntactic.JSONPointer.LastToken()))
	}
	return refuse(syntactic.ByteOffset, "%s", reason(err))
}

// reason is the parser's phrase without its prefix and position.
func reason(err error) string {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		err = syntactic.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends in the middle of a value"
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// quote shows a member name of a stranger in a message: ASCII only, and short.
func quote(name string) string {
	const most = 60
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	return strconv.QuoteToASCII(name)
}
