package lambdahost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// TestMain makes this test binary a bootstrap too: started with the environment of a sandbox, it is a Lambda function.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("HOLD") != "": // a process that a bootstrap has started
		hold(os.Getenv("HOLD"), "child")
		fmt.Println("there")
		select {}
	case os.Getenv("HOST_OF") != "":
		hostUntilKilled(os.Getenv("HOST_OF"))
	case os.Getenv("AWS_LAMBDA_RUNTIME_API") != "":
		bootstrap()
	default:
		os.Exit(m.Run())
	}
}

// do is an event for the bootstrap.
type do struct {
	Do    string `json:"do"`
	Bytes int    `json:"bytes,omitempty"`
	Dial  string `json:"dial,omitempty"` // a gate's address
}

// did is what it answers.
type did struct {
	PID       int      `json:"pid"`
	RequestID string   `json:"request_id"`
	Env       []string `json:"env"`
	Count     int64    `json:"count"`
	Deadline  bool     `json:"deadline"`
	Pad       string   `json:"pad"`
}

func bootstrap() {
	switch os.Getenv("INIT") {
	case "hang":
		fmt.Println("hanging in init")
		select {}
	case "exit":
		fmt.Println("exiting in init")
		os.Exit(7)
	}
	url := functionurl.New(functionurl.Config{Name: "test", Handler: http.HandlerFunc(pages)})
	var count atomic.Int64
	lambda.Start(handlerFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
		var in do
		if json.Unmarshal(payload, &in) != nil || in.Do == "" {
			return url.Invoke(ctx, payload)
		}
		_, deadline := ctx.Deadline()
		out := did{PID: os.Getpid(), Env: os.Environ(), Count: count.Load(), Deadline: deadline}
		if lc, ok := lambdacontext.FromContext(ctx); ok {
			out.RequestID = lc.AwsRequestID
		}
		fmt.Println(in.Do, out.RequestID)
		switch in.Do {
		case "hello":
		case "background": // answers, and goes on
			go func() {
				for {
					count.Add(1)
				}
			}()
		case "progress": // returns once the background work has moved on
			for count.Load() == out.Count {
				runtime.Gosched()
			}
			out.Count = count.Load()
		case "hang": // deaf to its deadline
			hold(in.Dial, "hanging")
			select {}
		case "wait": // until the test says so
			c := hold(in.Dial, "waiting")
			_, _ = io.ReadAll(c)
		case "child":
			exe, err := os.Executable()
			if err != nil {
				return nil, err
			}
			cmd := exec.Command(exe)
			cmd.Env = []string{"HOLD=" + in.Dial}
			there, err := cmd.StdoutPipe()
			if err != nil {
				return nil, err
			}
			if err := cmd.Start(); err != nil {
				return nil, err
			}
			if _, err := there.Read(make([]byte, 1)); err != nil { // or it would be frozen before it has checked in
				return nil, err
			}
		case "exit":
			os.Exit(3)
		case "panic":
			panic("out of cheese")
		case "fail":
			return nil, errors.New("the row is locked")
		case "big":
			out.Pad = strings.Repeat("x", in.Bytes)
		default:
			return nil, fmt.Errorf("do what? %q", in.Do)
		}
		return json.Marshal(out)
	}))
}

// hold connects to a gate, says who it is, and keeps the connection as long as the process lives.
func hold(address, who string) net.Conn {
	c, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(c, "%s %d\n", who, os.Getpid())
	held = append(held, c)
	return c
}

var held []net.Conn // or the collector would close them

// pages are what the bootstrap serves at its URL.
func pages(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/empty":
	case "/panic":
		panic("out of cheese")
	case "/hang":
		select {}
	case "/form":
		fmt.Fprintf(w, "%s by %s", r.PostFormValue("decision"), r.PostFormValue("name"))
	case "/pid":
		fmt.Fprint(w, os.Getpid())
	case "/big":
		_, _ = io.WriteString(w, strings.Repeat("x", 7<<20))
	case "/cookies":
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.Header().Add("Vary", "Origin")
		w.Header().Add("Vary", "Accept")
	default:
		var lines []string
		for name, values := range r.Header {
			lines = append(lines, name+": "+strings.Join(values, "|"))
		}
		slices.Sort(lines)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "%s %s\nHost: %s\n%s\n\n%s", r.Method, r.URL.RequestURI(), r.Host, strings.Join(lines, "\n"), body)
	}
}

// handlerFunc is a lambda.Handler.
type handlerFunc func(context.Context, []byte) ([]byte, error)

func (f handlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}
