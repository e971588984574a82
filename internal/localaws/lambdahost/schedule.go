package lambdahost

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Every sends payload to a function every d, as an EventBridge rule does: asynchronously, and whether or not the last one is done. A nil
// payload stands for the scheduled event that a rule without an input sends.
func (h *Host) Every(d time.Duration, name string, payload []byte) error {
	if d <= 0 {
		return fmt.Errorf("schedule of function %s: every %v is not a period", name, d)
	}
	if payload != nil && !json.Valid(payload) {
		return fmt.Errorf("schedule of function %s: the payload is not JSON", name)
	}
	f, err := h.function(name)
	if err != nil {
		return err
	}
	payload = slices.Clone(payload)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	f.schedules = append(f.schedules, payload)
	h.running.add()
	go func() {
		defer h.running.done()
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				if h.enqueue(f, newRequestID(), h.scheduled(payload, name, now)) != nil {
					return // closed
				}
			case <-h.stop:
				return
			}
		}
	}()
	return nil
}

// Fire sends a function what its schedules send, now; a function without a schedule gets the scheduled event. It returns when the
// events are queued: Wait waits for them.
func (h *Host) Fire(name string) error {
	f, err := h.function(name)
	if err != nil {
		return err
	}
	h.mu.Lock()
	payloads := slices.Clone(f.schedules)
	h.mu.Unlock()
	if len(payloads) == 0 {
		payloads = [][]byte{nil}
	}
	for _, payload := range payloads {
		if err := h.enqueue(f, newRequestID(), h.scheduled(payload, name, time.Now())); err != nil {
			return err
		}
	}
	return nil
}

// scheduled returns payload, or the event of an EventBridge rule on a schedule (EventBridge User Guide, "Events from Scheduler rules").
func (h *Host) scheduled(payload []byte, name string, now time.Time) []byte {
	if payload != nil {
		return payload
	}
	b, err := json.Marshal(map[string]any{
		"version": "0", "id": newRequestID(), "detail-type": "Scheduled Event", "source": "aws.events", "account": account,
		"time": now.UTC().Format(time.RFC3339), "region": h.config.Region,
		"resources": []string{"arn:aws:events:" + h.config.Region + ":" + account + ":rule/" + name}, "detail": struct{}{},
	})
	if err != nil {
		panic(err) // strings
	}
	return b
}
