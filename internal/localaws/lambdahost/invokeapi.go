package lambdahost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/countersign-mcp/countersign/internal/functionurl"
)

// InvokeAPI returns the Lambda API's Invoke action (POST /2015-03-31/functions/{name}/invocations), for the base endpoint of
// aws-sdk-go-v2/service/lambda. Signatures are not looked at. Every other action is refused by name (H9).
func (h *Host) InvokeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", h.serveInvoke)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotImplemented, "NotImplementedException",
			fmt.Sprintf("the local function host implements Invoke and not %s %s", r.Method, r.URL.Path))
	})
	return mux
}

func (h *Host) serveInvoke(w http.ResponseWriter, r *http.Request) {
	for name, implemented := range map[string]string{"X-Amz-Log-Type": "None", "X-Amz-Client-Context": "", "X-Amz-Tenant-Id": "", "X-Amz-Durable-Execution-Name": ""} {
		if v := r.Header.Get(name); v != "" && v != implemented {
			refuse(w, http.StatusNotImplemented, "NotImplementedException", "the local function host does not implement "+name+": "+v)
			return
		}
	}
	f, err := h.function(bareName(r.PathValue("name")))
	if err != nil {
		status, kind := http.StatusNotFound, "ResourceNotFoundException"
		if errors.Is(err, ErrClosed) {
			status, kind = http.StatusServiceUnavailable, "ServiceException"
		}
		refuse(w, status, kind, err.Error())
		return
	}
	mode := r.Header.Get("X-Amz-Invocation-Type")
	limit := functionurl.MaxRequest
	if mode == "Event" {
		limit = functionurl.MaxAsync
	}
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException",
				fmt.Sprintf("Request must be smaller than %d bytes for the InvokeFunction operation", limit)) // H4
		} else {
			refuse(w, http.StatusBadRequest, "InvalidRequestContentException", "the request's body ended early")
		}
		return
	}
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	if !json.Valid(payload) {
		refuse(w, http.StatusBadRequest, "InvalidRequestContentException", "Could not parse request body into json")
		return
	}

	id := newRequestID()
	w.Header().Set("X-Amzn-Requestid", id)
	switch mode {
	case "Event":
		if err := h.enqueue(f, id, payload); err != nil {
			refuse(w, http.StatusServiceUnavailable, "ServiceException", err.Error())
			return
		}
		w.WriteHeader(http.StatusAccepted)
	case "DryRun":
		w.WriteHeader(http.StatusNoContent)
	case "", "RequestResponse":
		out, err := f.invoke(id, payload, false)
		switch {
		case errors.Is(err, errThrottled):
			refuse(w, http.StatusTooManyRequests, "TooManyRequestsException", throttledMessage)
			return
		case err != nil:
			refuse(w, http.StatusServiceUnavailable, "ServiceException", err.Error())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amz-Executed-Version", "$LATEST")
		body := out.payload
		if out.fault != nil {
			// The request was fine, the function was not: the Lambda API tells the two apart by this header, not by the status.
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			body = out.fault
		}
		_, _ = w.Write(body) // fails only for a client that has gone
	default:
		refuse(w, http.StatusBadRequest, "InvalidParameterValueException", fmt.Sprintf("invocation type %q is none of RequestResponse, Event, DryRun", mode))
	}
}

// bareName returns the function's name out of a name, an ARN or a partial ARN, with or without a qualifier.
func bareName(s string) string {
	if _, after, ok := strings.Cut(s, "function:"); ok {
		s = after
	}
	name, _, _ := strings.Cut(s, ":")
	return name
}

// refuse writes an error as the Lambda service does: the SDKs read its kind from the header.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	if kind != "" {
		w.Header().Set("X-Amzn-Errortype", kind)
	}
	w.WriteHeader(status)
	// Both spellings, because the service's own errors differ in it.
	_ = json.NewEncoder(w).Encode(map[string]string{"Type": "User", "message": message, "Message": message})
}
