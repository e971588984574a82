package wal

import "os"

// SetFlush replaces fsync, so that tests can count, hold and fail it.
func (l *Log) SetFlush(flush func(*os.File) error) { l.flush = flush }

// BreakFile makes every further write of the file fail.
func (l *Log) BreakFile() error { return l.file.Close() }
