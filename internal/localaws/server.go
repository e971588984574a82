package localaws

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/localaws/accounting"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
	"github.com/countersign-mcp/countersign/internal/localaws/dynamo"
	"github.com/countersign-mcp/countersign/internal/localaws/params"
	"github.com/countersign-mcp/countersign/internal/localaws/wal"
)

// Config says how a stand-in keeps its data. The zero Config keeps it in memory.
type Config struct {
	Dir   string           // data folder, created when missing; empty means memory only
	Fsync bool             // survive power cuts too, at the price of a disk flush per write or group of writes
	Now   func() time.Time // for creation and modification dates; nil means time.Now
	Log   *slog.Logger     // told about a torn record at Open; nil means nobody
}

// Server is an open stand-in. It is an http.Handler, and its methods may be called
// concurrently.
type Server struct {
	config     Config
	log        *wal.Log // nil when in memory
	dynamo     *dynamo.Service
	params     *params.Service
	faults     *chaos.Plan
	accounting *accounting.Book
	mux        *http.ServeMux
	requests   atomic.Int64

	closing sync.Once
	closed  chan struct{}
}

// Open reads the data folder, compacts its log and returns a stand-in with the state of the
// last acknowledged write. Errors: *wal.LockedError when another process has the folder
// open, *wal.CorruptError when its log is damaged, and those of the file system.
func Open(config Config) (*Server, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config, faults: chaos.New(), accounting: accounting.New(), mux: http.NewServeMux(), closed: make(chan struct{})}
	s.dynamo = dynamo.New(dynamo.Config{Now: config.Now, Journal: s.journal(serviceDynamoDB)})
	s.params = params.New(params.Config{Now: config.Now, Journal: func(record []byte) error {
		return s.journal(serviceSSM)(func() ([]byte, error) { return record, nil })
	}})
	if config.Dir != "" {
		if err := s.restore(); err != nil {
			return nil, err
		}
	}
	s.mux.HandleFunc("POST /{$}", s.serveAWS)
	s.mountControls()
	return s, nil
}

// Mount serves a further API on the same port. The pattern is one of http.ServeMux; like
// there, one that conflicts with an earlier one panics.
func (s *Server) Mount(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) }

// Faults is the plan of what goes wrong. It starts empty and is not kept across restarts.
func (s *Server) Faults() *chaos.Plan { return s.faults }

// Accounting is the book of what requests would have cost. It is not kept across restarts.
func (s *Server) Accounting() *accounting.Book { return s.accounting }

// ServeHTTP answers AWS requests, the controls and what was mounted.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" { // A4
		http.Error(w, "the local stand-in does not serve web pages, and this request comes from "+origin, http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Close drops ghost writes that have not landed, lets hanging clients go, flushes the log
// and gives up the folder. Requests that are still under way are answered with an error.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		s.faults.Clear()
		if s.log != nil {
			err = s.log.Close()
		}
	})
	return err
}

// The services' names in the journal and in the accounting.
const (
	serviceDynamoDB = "dynamodb"
	serviceSSM      = "ssm"
)

// entry is one line of the log: a service's record under the service's name.
type entry struct {
	Service string         `json:"service"`
	Record  jsontext.Value `json:"record"`
}

// line is the log's form of a service's record, which is compact JSON.
func line(service string, record []byte) []byte {
	return slices.Concat([]byte(`{"service":"`+service+`","record":`), record, []byte("}"))
}

// journal is the function that makes a service's records durable. In memory there is nothing to make.
func (s *Server) journal(service string) func(encode func() ([]byte, error)) error {
	return func(encode func() ([]byte, error)) error {
		if s.log == nil {
			select {
			case <-s.closed:
				return fmt.Errorf("the local stand-in is closed")
			default:
				return nil
			}
		}
		record, err := encode()
		if err != nil {
			return err
		}
		return s.log.Append(line(service, record))
	}
}

// restore replays the folder's log and replaces it by the state it led to.
func (s *Server) restore() error {
	log, found, err := wal.Open(wal.Config{Dir: s.config.Dir, Fsync: s.config.Fsync}, s.replay)
	if err != nil {
		return fmt.Errorf("opening the local AWS data: %w", err)
	}
	if found.TornBytes > 0 {
		s.config.Log.Warn("the last record of the local AWS data was cut short and has been dropped: its write was never acknowledged",
			"dir", s.config.Dir, "offset", found.TornAt, "bytes", found.TornBytes)
	}
	err = log.Compact(func(emit func([]byte) error) error {
		wrap := func(service string) func([]byte) error {
			return func(record []byte) error { return emit(line(service, record)) }
		}
		if err := s.dynamo.Snapshot(wrap(serviceDynamoDB)); err != nil {
			return err
		}
		return s.params.Snapshot(wrap(serviceSSM))
	})
	if err != nil {
		_ = log.Close() // the first error is the one that matters
		return err
	}
	s.log = log
	return nil
}

func (s *Server) replay(line []byte) error {
	var e entry
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	switch e.Service {
	case serviceDynamoDB:
		return s.dynamo.Replay(e.Record)
	case serviceSSM:
		return s.params.Replay(e.Record)
	}
	return fmt.Errorf("a record of the unknown service %q", e.Service)
}
