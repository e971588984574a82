package row

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"slices"
)

const (
	deflateFrom = 512 // bytes: shorter bodies are not worth a compressor's 600 KB of memory
	deflated    = "deflate"
)

// Deflate returns the shorter of b and b compressed, with the name of the encoding: empty for b as it is.
func Deflate(b []byte) ([]byte, string) {
	if len(b) < deflateFrom {
		return slices.Clone(b), ""
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		return slices.Clone(b), ""
	}
	if _, err := w.Write(b); err != nil || w.Close() != nil || out.Len() >= len(b) {
		return slices.Clone(b), ""
	}
	return out.Bytes(), deflated
}

// Inflate undoes Deflate. It reads at most one byte more than size: what is stored says how much it is.
func Inflate(b []byte, encoding string, size int) ([]byte, error) {
	switch encoding {
	case "":
		return slices.Clone(b), nil
	case deflated:
		plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), int64(size)+1))
		if err != nil {
			return nil, fmt.Errorf("stored result does not decompress: %w", err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("stored result has the unknown encoding %q", encoding)
}
