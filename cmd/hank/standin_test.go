package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"hank/internal/modelserver"
)

// standIn sets the provider of anthropic models.
//
//	model say TEXT             it says a text, and the file served gets a line for each answer
//	model fails N STATUS TEXT  it refuses N requests with an HTTP status before it says a text
//	model cuts                 it breaks each answer off
//	model floods               each of its answers has 200 MB; the file flood says of each
//	                           whether all of it was "taken", or only a "part"
//	model hang                 it never answers
//	model proxied SCHEME TEXT  it says a text, and is reached by a proxy only, which notes in
//	                           the file proxied what it is asked for; if the scheme is https,
//	                           with a certificate that only SSL_CERT_FILE makes a good one
//	model none                 there is none
func standIn(ts *testscript.TestScript, neg bool, args []string) {
	forms := map[string]int{"say": 2, "fails": 4, "cuts": 1, "floods": 1, "hang": 1, "proxied": 3, "none": 1}
	if neg || len(args) == 0 || forms[args[0]] != len(args) {
		ts.Fatalf("usage: model say TEXT | fails N STATUS TEXT | cuts | floods | hang | proxied SCHEME TEXT | none")
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "SSL_CERT_FILE"} {
		ts.Setenv(name, "")
	}
	if args[0] == "none" {
		return
	}
	ts.Setenv("ANTHROPIC_API_KEY", "a-key-of-the-stand-in-7")
	if args[0] == "floods" {
		s := httptest.NewServer(flood(ts.MkAbs("flood")))
		ts.Defer(s.Close)
		ts.Setenv("ANTHROPIC_BASE_URL", s.URL)
		return
	}
	closing, text, served := make(chan struct{}), args[len(args)-1], ts.MkAbs("served")
	var asked atomic.Int64
	failures, status := int64(0), 0
	if args[0] == "fails" {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		status, err = strconv.Atoi(args[2])
		ts.Check(err)
		failures = int64(n)
	}
	s := modelserver.Start(func(modelserver.Request) modelserver.Turn {
		switch {
		case args[0] == "hang":
			<-closing
		case args[0] == "cuts":
			return modelserver.Turn{Text: "par", Break: modelserver.Drop}
		case asked.Add(1) <= failures:
			return modelserver.Turn{Error: modelserver.Error{Status: status, Message: "not now"}}
		}
		if args[0] == "say" {
			note(served, "answer")
		}
		return modelserver.Turn{Text: text}
	})
	ts.Defer(func() { close(closing); s.Close() })
	ts.Setenv("ANTHROPIC_BASE_URL", s.URL())
	if args[0] == "proxied" {
		behindProxy(ts, args[1], s.URL())
	}
}

// noting is held by who notes.
var noting sync.Mutex

// note adds a line to a file of a script.
func note(file string, words ...any) {
	noting.Lock()
	defer noting.Unlock()
	if f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, words...)
		_ = f.Close()
	}
}

// flood is a provider whose answers have 200 MB.
func flood(file string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, err := io.WriteString(w, `{"choices": [{"message": {"content": "`)
		part := []byte(strings.Repeat("x", 1<<20))
		for i := 0; i < 200 && err == nil; i++ {
			_, err = w.Write(part)
		}
		note(file, map[bool]string{true: "taken", false: "part"}[err == nil])
	}
}

// behindProxy puts a provider behind a proxy. Its name is that of the certificate of
// httptest, and nothing asks for its address.
func behindProxy(ts *testscript.TestScript, scheme, provider string) {
	to, err := url.Parse(provider)
	ts.Check(err)
	reverse := httputil.NewSingleHostReverseProxy(to)
	secure := httptest.NewUnstartedServer(reverse)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // who distrusts it is meant to
	secure.StartTLS()
	ts.Defer(secure.Close)
	file := ts.MkAbs("proxied")
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(file, r.Method, r.RequestURI)
		if r.Method != http.MethodConnect {
			reverse.ServeHTTP(w, r)
			return
		}
		tunnel(w, secure.Listener.Addr().String())
	}))
	ts.Defer(proxy.Close)
	ca := filepath.Join(ts.MkAbs("."), "ca.pem")
	ts.Check(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	ts.Setenv(strings.ToUpper(scheme)+"_PROXY", proxy.URL)
	ts.Setenv("SSL_CERT_FILE", ca)
	ts.Setenv("ANTHROPIC_BASE_URL", scheme+"://example.com")
}

// tunnel connects who has asked for a connection with an address.
func tunnel(w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(there, here)
		_ = there.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(here, there)
}
