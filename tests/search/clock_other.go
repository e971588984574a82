//go:build !unix

package main

import "time"

// processorTime is the time of day where the system has no other clock that Go knows.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
