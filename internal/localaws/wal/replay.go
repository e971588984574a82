package wal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// magic is the first record of every file, so that a foreign file is never overwritten and
// a newer format is not misread.
const magic = `{"format":"countersign local data","version":1}`

// Recovery says what Open found.
type Recovery struct {
	Records   int   // replayed
	TornAt    int64 // offset in bytes of the incomplete last record; meaningful when TornBytes > 0
	TornBytes int64 // bytes dropped from the end (W2)

	unterminated bool // the last record is whole but for its line feed
}

// CorruptError is damage that Open will not step over (W3).
type CorruptError struct {
	File   string
	Offset int64 // bytes from the start of the file to the damaged record
	Reason string
}

// Error names the file, the offset and the cure.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d (%s): restore the file from a copy, or keep only what precedes the damage with: truncate -s %d %s",
		e.File, e.Offset, e.Reason, e.Offset, e.File)
}

// replayFile hands every record of the file to apply, in order. A file that does not exist
// has no records.
func replayFile(name string, apply func([]byte) error) (Recovery, error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return Recovery{}, nil
	}
	if err != nil {
		return Recovery{}, err
	}
	defer file.Close()
	return replay(name, file, apply)
}

func replay(name string, from io.Reader, apply func([]byte) error) (Recovery, error) {
	var found Recovery
	in := bufio.NewReaderSize(from, 1<<20)
	offset, first := int64(0), true
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return found, fmt.Errorf("reading %s at byte %d: %w", name, offset, err)
		}
		if len(line) == 0 {
			return found, nil
		}
		complete := bytes.HasSuffix(line, []byte{'\n'})
		body, damage := unframe(bytes.TrimSuffix(line, []byte{'\n'}))
		switch {
		case damage != nil && !complete && cutShort(line):
			found.TornAt, found.TornBytes = offset, int64(len(line))
			return found, nil
		case damage != nil:
			return found, &CorruptError{File: name, Offset: offset, Reason: damage.Error()}
		case first && string(body) != magic:
			return found, &CorruptError{File: name, Offset: 0, Reason: "the first record is not " + magic}
		case !first:
			if err := apply(body); err != nil {
				return found, &CorruptError{File: name, Offset: offset, Reason: err.Error()}
			}
			found.Records++
		}
		first = false
		found.unterminated = !complete
		offset += int64(len(line))
	}
}

// cutShort reports whether a line without a line feed can be what a process left that died
// while it wrote a record: a proper beginning of one. A record with all its bytes and a
// wrong checksum was damaged later, and it may have been acknowledged.
func cutShort(line []byte) bool {
	parts := bytes.SplitN(line, []byte{' '}, 3)
	if len(parts[0]) > 8 || len(bytes.Trim(parts[0], "0123456789abcdef")) > 0 {
		return false
	}
	if len(parts) == 1 {
		return true
	}
	if len(parts[0]) != 8 || len(bytes.Trim(parts[1], "0123456789")) > 0 {
		return false
	}
	if len(parts) == 2 {
		return true
	}
	var length int
	if _, err := fmt.Sscan(string(parts[1]), &length); err != nil {
		return false
	}
	return len(parts[2]) < length
}
