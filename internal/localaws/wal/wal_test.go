package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/countersign-mcp/countersign/internal/localaws/wal"
)

// reopen opens the folder and returns the log and the records that were replayed.
func reopen(dir string) (*wal.Log, wal.Recovery, []string, error) {
	var records []string
	log, found, err := wal.Open(wal.Config{Dir: dir}, func(record []byte) error {
		records = append(records, string(record))
		return nil
	})
	return log, found, records, err
}

func mustOpen(t *testing.T, dir string) (*wal.Log, []string) {
	t.Helper()
	log, _, records, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	return log, records
}

func mustClose(t *testing.T, log *wal.Log) {
	t.Helper()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func appendAll(t *testing.T, log *wal.Log, records ...string) {
	t.Helper()
	for _, record := range records {
		if err := log.Append([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
}

// written makes a folder with the records and returns the bytes of its file.
func written(t *testing.T, records ...string) (dir, file string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	log, _ := mustOpen(t, dir)
	appendAll(t, log, records...)
	mustClose(t, log)
	file = filepath.Join(dir, wal.FileName)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return dir, file, data
}

func TestRecordsComeBackInOrder(t *testing.T) {
	t.Parallel()
	want := []string{`{"n":1}`, `{}`, `"` + strings.Repeat("long", 1<<20) + `"`, `{"last":true}`}
	dir, _, _ := written(t, want...)
	for range 2 {
		log, got := mustOpen(t, dir)
		if !slices.Equal(got, want) {
			t.Errorf("got %d records, want the %d written", len(got), len(want))
		}
		mustClose(t, log)
	}
}

// W2: wherever a dying process stops writing, the whole records before that place come
// back, and the log goes on behind them.
func TestEveryTruncation(t *testing.T) {
	t.Parallel()
	records := []string{`{"a":1}`, `{"b":"12 34"}`, `{"c":3}`}
	_, _, data := written(t, records...)
	head := bytes.IndexByte(data, '\n') + 1
	for cut := range len(data) + 1 {
		dir := t.TempDir()
		file := filepath.Join(dir, wal.FileName)
		if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		log, found, got, err := reopen(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		// A record is whole with all its bytes, even when its line feed is missing.
		whole := 0
		if cut >= head {
			whole = bytes.Count(data[head:cut], []byte{'\n'})
		}
		if cut < len(data) && data[cut] == '\n' && cut >= head {
			whole++
		}
		if !slices.Equal(got, records[:whole]) && !(whole == 0 && len(got) == 0) {
			t.Fatalf("cut at %d: got %q, want %q", cut, got, records[:whole])
		}
		end := bytes.LastIndexByte(data[:cut], '\n') + 1
		if complete := cut == end || data[cut] == '\n'; complete != (found.TornBytes == 0) || !complete && (found.TornAt != int64(end) || found.TornBytes != int64(cut-end)) {
			t.Fatalf("cut at %d: reported %+v, the last record began at %d", cut, found, end)
		}
		appendAll(t, log, `{"after":true}`)
		mustClose(t, log)
		log, again := mustOpen(t, dir)
		if want := append(slices.Clone(got), `{"after":true}`); !slices.Equal(again, want) {
			t.Fatalf("cut at %d, then one more record: got %q, want %q", cut, again, want)
		}
		mustClose(t, log)
	}
}

// W3: no single damaged bit is accepted, nor taken for a record that was cut short.
func TestEveryFlippedBit(t *testing.T) {
	t.Parallel()
	_, _, data := written(t, `{"a":1}`, `{"b":2}`)
	dir := t.TempDir()
	file := filepath.Join(dir, wal.FileName)
	for at := range data {
		for bit := range 8 {
			damaged := bytes.Clone(data)
			damaged[at] ^= 1 << bit
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			log, _, _, err := reopen(dir)
			if err == nil {
				mustClose(t, log)
			}
			var corrupt *wal.CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("bit %d of byte %d (%q): got %v, want a CorruptError", bit, at, damaged[at], err)
			}
			line := bytes.LastIndexByte(data[:at], '\n') + 1
			if corrupt.File != file || corrupt.Offset != int64(line) {
				t.Fatalf("bit %d of byte %d: reported %s at %d, the record begins at %d", bit, at, corrupt.File, corrupt.Offset, line)
			}
		}
	}
}

func TestRecordsThatDoNotApplyAreDamage(t *testing.T) {
	t.Parallel()
	dir, _, _ := written(t, `{"a":1}`, `{"b":2}`)
	_, _, err := wal.Open(wal.Config{Dir: dir}, func(record []byte) error {
		if string(record) == `{"b":2}` {
			return errors.New("no such table")
		}
		return nil
	})
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "no such table") {
		t.Fatalf("got %v, want a CorruptError with the reason", err)
	}
	log, _ := mustOpen(t, dir) // the lock was given up
	mustClose(t, log)
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"a text": "dear diary,\n", "a later format": "f7c9c1d3 12 {\"format\":2}\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, wal.FileName)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, _, err := reopen(dir)
		var corrupt *wal.CorruptError
		if !errors.As(err, &corrupt) {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != content {
			t.Errorf("%s was changed to %q", name, after)
		}
	}
}

// W4
func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, _ := mustOpen(t, dir)
	_, _, _, err := reopen(dir)
	var locked *wal.LockedError
	if !errors.As(err, &locked) || locked.Dir != dir {
		t.Errorf("the second one gets %v, want a LockedError for %s", err, dir)
	}
	mustClose(t, log)
	log, _ = mustOpen(t, dir)
	mustClose(t, log)
}

// W5
func TestCompact(t *testing.T) {
	t.Parallel()
	dir, file, before := written(t, `{"a":1}`, `{"a":2}`, `{"a":3}`)
	log, _ := mustOpen(t, dir)
	boom := errors.New("boom")
	if err := log.Compact(func(emit func([]byte) error) error { return errors.Join(emit([]byte(`{}`)), boom) }); !errors.Is(err, boom) {
		t.Errorf("a snapshot that fails: %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a failed compaction changed the file: %v", err)
	}
	appendAll(t, log, `{"a":4}`) // and the log still works
	if err := log.Compact(func(emit func([]byte) error) error { return emit([]byte(`{"a":4}`)) }); err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, `{"a":5}`)
	mustClose(t, log)
	log, got := mustOpen(t, dir)
	mustClose(t, log)
	if want := []string{`{"a":4}`, `{"a":5}`}; !slices.Equal(got, want) {
		t.Errorf("after compaction and one more record: %q, want %q", got, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v (%v), want the log and its lock", entries, err)
	}
}

func TestLeftoverOfACrashedCompaction(t *testing.T) {
	t.Parallel()
	dir, file, _ := written(t, `{"a":1}`)
	if err := os.WriteFile(file+".new", []byte("half a snaps"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, got := mustOpen(t, dir)
	if err := log.Compact(func(emit func([]byte) error) error { return emit([]byte(got[0])) }); err != nil {
		t.Fatal(err)
	}
	mustClose(t, log)
	log, got = mustOpen(t, dir)
	mustClose(t, log)
	if !slices.Equal(got, []string{`{"a":1}`}) {
		t.Errorf("got %q", got)
	}
}

// Appends and Syncs of many goroutines share the file and the flushes.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, _, err := wal.Open(wal.Config{Dir: dir, Fsync: true}, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for w := range 8 {
		wait.Go(func() {
			for n := range 20 {
				if err := errors.Join(log.Append(fmt.Appendf(nil, `"%d-%d"`, w, n)), log.Sync()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	mustClose(t, log)
	log, got := mustOpen(t, dir)
	mustClose(t, log)
	last := map[string]int{}
	for _, record := range got {
		var w string
		var n int
		if _, err := fmt.Sscanf(strings.ReplaceAll(strings.Trim(record, `"`), "-", " "), "%s %d", &w, &n); err != nil {
			t.Fatal(err)
		}
		if n != last[w] {
			t.Fatalf("record %s of writer %s comes after %d of its records", record, w, last[w])
		}
		last[w]++
	}
	if len(got) != 160 {
		t.Errorf("%d records came back, 160 were synced", len(got))
	}
}

func openFsync(t *testing.T) *wal.Log {
	t.Helper()
	log, _, err := wal.Open(wal.Config{Dir: t.TempDir(), Fsync: true}, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// W1: Sync returns after a flush that began after the record was written, and those who wait
// together share it.
func TestSyncWaitsForAFlush(t *testing.T) {
	t.Parallel()
	log := openFsync(t)
	flushing, release := make(chan struct{}), make(chan struct{})
	flushes := 0 // guarded by the log: one flush at a time
	log.SetFlush(func(*os.File) error {
		flushes++
		flushing <- struct{}{}
		<-release
		return nil
	})
	first := make(chan error, 1)
	appendAll(t, log, `"first"`)
	go func() { first <- log.Sync() }()
	<-flushing

	// These are written while the first flush is under way, which therefore does not cover them.
	others := make(chan error, 8)
	for range 8 {
		appendAll(t, log, `"other"`)
		go func() { others <- log.Sync() }()
	}
	select {
	case err := <-first:
		t.Fatalf("Sync returned (%v) before its flush did", err)
	default:
	}
	release <- struct{}{}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	<-flushing
	select {
	case err := <-others:
		t.Fatalf("Sync returned (%v) on a flush that began before its record", err)
	default:
	}
	release <- struct{}{}
	for range 8 {
		if err := <-others; err != nil {
			t.Error(err)
		}
	}
	if flushes != 2 {
		t.Errorf("nine Syncs took %d flushes, want 2", flushes)
	}
	mustClose(t, log)
}

// W6: after a write or a flush that failed, nothing more is accepted.
func TestBrokenLogRefuses(t *testing.T) {
	t.Parallel()
	t.Run("write", func(t *testing.T) {
		t.Parallel()
		log := openFsync(t)
		if err := log.BreakFile(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := log.Append([]byte(`{}`)); err == nil || !strings.Contains(err.Error(), wal.FileName+" cannot be written") {
				t.Errorf("a record for a broken file: %v", err)
			}
		}
	})
	t.Run("flush", func(t *testing.T) {
		t.Parallel()
		log := openFsync(t)
		log.SetFlush(func(*os.File) error { return errors.New("lost power") })
		appendAll(t, log, `{}`)
		if err := log.Sync(); err == nil || !strings.Contains(err.Error(), "lost power") {
			t.Errorf("the flush: %v", err)
		}
		log.SetFlush(func(*os.File) error { return nil })
		if err := errors.Join(log.Append([]byte(`{}`))); err == nil || !strings.Contains(err.Error(), "cannot be flushed") {
			t.Errorf("a record after it: %v", err)
		}
		if err := log.Sync(); err == nil {
			t.Error("a later Sync claims that all is on disk")
		}
	})
}

// W6
func TestClosedLogRefuses(t *testing.T) {
	t.Parallel()
	log, _ := mustOpen(t, t.TempDir())
	mustClose(t, log)
	if err := log.Append([]byte(`{}`)); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("a record after Close: %v", err)
	}
}

func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	log, _ := mustOpen(t, dir)
	mustClose(t, log)
	for _, name := range []string{dir, filepath.Join(dir, wal.FileName)} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v (%v), want its owner's only", name, info.Mode(), err)
		}
	}
}
