package chaos

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// output is what a process prints, in a file: unlike a pipe, it can be read as far as it was written at any moment, so what a
// person finds in the mail does not depend on when somebody gets to read a pipe.
type output struct {
	mu   sync.Mutex
	file *os.File
	at   int64
	each func(line []byte)
}

// redirect gives the process its outputs.
func (s *sandbox) redirect() error {
	if s.rig.log != nil {
		s.cmd.Stderr = s.rig.log
	}
	if s.fn != "notify" {
		return nil
	}
	f, err := os.Create(filepath.Join(s.rig.dir, s.name+".out"))
	if err != nil {
		return fmt.Errorf("a file for what %s prints: %w", s.fn, err)
	}
	s.cmd.Stdout, s.output = f, &output{file: f, each: s.rig.card}
	return nil
}

// read takes the lines that were printed since.
func (o *output) read() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := make([]byte, 16<<10)
	for o.file != nil {
		n, _ := o.file.ReadAt(buf, o.at) // an end of the file is no error here
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		for line := range bytes.Lines(buf[:end]) {
			o.each(bytes.TrimSuffix(line, []byte("\n")))
		}
		o.at += int64(end)
		if end == 0 {
			return
		}
	}
}

// last takes the last lines of a process that has ended.
func (o *output) last() {
	if o == nil {
		return
	}
	o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	name := o.file.Name()
	_ = o.file.Close() // read to its end
	_ = os.Remove(name)
	o.file = nil
}
