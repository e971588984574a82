package lambdahost

import (
	"time"
)

// AsyncInvoke is an asynchronous invoke or a scheduled event, as shown to Config.AsyncFault.
type AsyncInvoke struct {
	Function  string
	RequestID string
	Payload   []byte // not to be changed
}

// Delivery is what becomes of an asynchronous invoke. Lambda promises at least one run of an event it accepts and at most six hours in its queue;
// code that survives Drop and Duplicate needs neither.
type Delivery int

// The deliveries.
const (
	Deliver   Delivery = iota // once, and again after a failure
	Drop                      // accepted and lost
	Duplicate                 // twice, at the same time and with the same request id
)

// enqueue accepts an asynchronous invoke. It is given to the function in a goroutine of its own.
func (h *Host) enqueue(f *function, id string, payload []byte) error {
	copies := 1
	if h.config.AsyncFault != nil {
		switch h.config.AsyncFault(AsyncInvoke{Function: f.Name, RequestID: id, Payload: payload}) {
		case Drop:
			copies = 0
		case Duplicate:
			copies = 2
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	for range copies {
		h.pending.add()
		h.running.add()
		go func() {
			defer h.running.done()
			defer h.pending.done()
			h.deliver(f, id, payload)
		}()
	}
	return nil
}

// deliver runs an asynchronous invoke until it succeeds or its retries are used up (H5).
func (h *Host) deliver(f *function, id string, payload []byte) {
	for attempt := 0; ; attempt++ {
		out, err := f.invoke(id, payload, true)
		if err != nil {
			h.log.Warn("asynchronous invoke dropped", "function", f.Name, "request_id", id, "error", err)
			return
		}
		if out.fault == nil {
			return
		}
		if attempt == len(h.config.AsyncRetryDelays) {
			h.log.Error("asynchronous invoke given up", "function", f.Name, "request_id", id, "attempts", attempt+1)
			return
		}
		pause := time.NewTimer(h.config.AsyncRetryDelays[attempt])
		select {
		case <-pause.C:
		case <-h.stop:
			pause.Stop()
			h.log.Warn("asynchronous invoke dropped before its retry", "function", f.Name, "request_id", id, "error", ErrClosed)
			return
		}
	}
}
