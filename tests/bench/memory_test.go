package bench_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// memory is what this process holds: the gateway, the SDK and the stand-in with every row.
type memory struct {
	heap uint64 // bytes that are reachable
	rss  uint64 // bytes of the process in RAM; 0 where the system does not say
}

func measureMemory() memory {
	runtime.GC()
	runtime.GC() // the second one frees what finalizers and pools still held at the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{heap: m.HeapAlloc, rss: residentSet()}
}

// residentSet reads Linux's /proc; elsewhere it is 0.
func residentSet() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0
	}
	return resident * uint64(os.Getpagesize())
}

// processorTime is what this process has computed so far, on all processors together; 0 where the system does not say. It tells more
// than the time on a clock where the machine has other work.
func processorTime() time.Duration {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, fields, _ := strings.Cut(string(text), ") ") // the name before may hold spaces
	parts := strings.Fields(fields)
	if len(parts) < 13 {
		return 0
	}
	var user, system int64
	if _, err := fmt.Sscan(parts[11]+" "+parts[12], &user, &system); err != nil {
		return 0
	}
	const tick = 10 * time.Millisecond
	return time.Duration(user+system) * tick
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
