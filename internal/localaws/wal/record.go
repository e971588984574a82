package wal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is what precedes the body in its line.
func header(body []byte) []byte {
	return fmt.Appendf(nil, "%08x %d ", crc32.Checksum(body, castagnoli), len(body))
}

// frame is the record as one line of the file.
func frame(body []byte) []byte {
	return append(append(header(body), body...), '\n')
}

// unframe returns the body of a line given without its line feed. The header must be byte
// for byte the one that frame writes: parsing it would accept other spellings of the same
// numbers, such as a flipped bit that turns a hex digit's case.
func unframe(line []byte) ([]byte, error) {
	parts := bytes.SplitN(line, []byte{' '}, 3)
	if len(parts) < 3 {
		return nil, errors.New("it has no checksum, length and body")
	}
	body := parts[2]
	if want := header(body); !bytes.HasPrefix(line, want) {
		return nil, fmt.Errorf("it begins with %.40q, its body asks for %q", bytes.Join(parts[:2], []byte{' '}), bytes.TrimSpace(want))
	}
	return body, nil
}
