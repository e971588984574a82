package wal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// FileName is the log's name in its folder.
const FileName = "localaws.wal"

// Config says where a log lives.
type Config struct {
	Dir   string // required; created when missing, readable by its owner only
	Fsync bool   // Sync waits for the disk; without it, for the operating system
}

// Log is an open write-ahead log. Its methods may be called concurrently; the order of
// concurrent Appends is the caller's to decide.
type Log struct {
	config Config
	name   string
	lock   io.Closer

	mu     sync.Mutex // guards the fields below and the end of the file
	file   *os.File
	count  int64 // records appended
	broken error // W6

	syncing sync.Mutex // held by the one that calls fsync for everybody
	synced  int64      // records known to be on disk
	flush   func(*os.File) error
}

// Open takes the folder's lock, replays its log through apply and returns the log ready for
// Compact or Append. Errors: *LockedError, *CorruptError, and those of the file system.
func Open(config Config, apply func(record []byte) error) (*Log, Recovery, error) {
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, Recovery{}, fmt.Errorf("creating the data folder: %w", err)
	}
	lock, err := acquire(config.Dir) // W4
	if err != nil {
		return nil, Recovery{}, err
	}
	log := &Log{config: config, name: filepath.Join(config.Dir, FileName), lock: lock, flush: (*os.File).Sync}
	recovery, err := replayFile(log.name, apply)
	if err == nil && recovery.TornBytes > 0 {
		// Appending behind the torn record would turn it into damage in the middle.
		err = os.Truncate(log.name, recovery.TornAt)
	}
	if err == nil {
		log.file, err = openForAppend(log.name)
	}
	if err == nil && recovery.unterminated {
		_, err = log.file.Write([]byte{'\n'})
	}
	if err != nil {
		return nil, recovery, errors.Join(err, lock.Close())
	}
	return log, recovery, nil
}

func openForAppend(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() == 0 {
		_, err = file.Write(frame([]byte(magic)))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Append writes one record. When it returns nil the record survives the death of this
// process (W1): the operating system has it.
func (l *Log) Append(record []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if _, err := l.file.Write(frame(record)); err != nil {
		l.broken = fmt.Errorf("%s cannot be written, restart to go on from its last whole record: %w", l.name, err)
		return l.broken
	}
	l.count++
	return nil
}

// Sync waits until every record appended before the call is on disk. Callers that wait at
// the same time share one fsync. Without Config.Fsync it returns at once.
func (l *Log) Sync() error {
	if !l.config.Fsync {
		return nil
	}
	l.mu.Lock()
	want := l.count
	l.mu.Unlock()

	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.synced >= want {
		return nil // the one that held the lock before has done it
	}
	l.mu.Lock()
	upTo, file, broken := l.count, l.file, l.broken
	l.mu.Unlock()
	if broken != nil {
		return broken
	}
	if err := l.flush(file); err != nil {
		err = fmt.Errorf("%s cannot be flushed to disk, restart to go on from its last whole record: %w", l.name, err)
		l.mu.Lock()
		l.broken = err
		l.mu.Unlock()
		return err
	}
	l.synced = upTo
	return nil
}

// Compact replaces the file by the records that emit is called with: the state, without
// its history. It is to be called before the first Append.
func (l *Log) Compact(snapshot func(emit func(record []byte) error) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	temporary := l.name + ".new"
	if err := writeSnapshot(temporary, snapshot); err != nil {
		return errors.Join(fmt.Errorf("compacting %s: %w", l.name, err), os.Remove(temporary))
	}
	if err := l.swap(temporary); err != nil {
		l.broken = fmt.Errorf("compacting %s: %w", l.name, err)
		return l.broken
	}
	return nil
}

// swap puts the new file in the place of the old one. A crash before the rename leaves the
// old file and a .new that the next Compact overwrites; a crash after it leaves the new
// file. Both hold the same state (W5).
func (l *Log) swap(temporary string) error {
	// Windows does not rename over an open file.
	if err := l.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(temporary, l.name); err != nil {
		return err
	}
	if err := syncFolder(l.config.Dir); err != nil {
		return err
	}
	file, err := openForAppend(l.name)
	if err != nil {
		return err
	}
	l.file = file
	return nil
}

func writeSnapshot(name string, snapshot func(emit func([]byte) error) error) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	emit := func(record []byte) error {
		_, err := out.Write(frame(record))
		return err
	}
	err = emit([]byte(magic))
	if err == nil {
		err = snapshot(emit)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Close flushes the log and gives up the lock.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = fmt.Errorf("%s is closed", l.name)
	}
	return errors.Join(l.file.Sync(), l.file.Close(), l.lock.Close())
}
