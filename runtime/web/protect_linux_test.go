package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hank/runtime/internal/testkit"
	"hank/runtime/web/caller"
)

// TestOnlyTheListedHostsAreTaken: a server on a port takes its own names with that port, and those
// of --allow-host as they are given; one on a socket takes the names of this machine with any port.
func TestOnlyTheListedHostsAreTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		listen  string
		hosts   []string
		taken   []string // PORT: its own port
		refused []string
	}{
		{"127.0.0.1:0", nil, []string{"127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT"},
			[]string{"127.0.0.1", "localhost", "127.0.0.1:1", "localhost:1", "phone.example", "evil.example:PORT", ""}},
		{"127.0.0.1:0", []string{"phone.example", "other.example:8443"}, []string{"127.0.0.1:PORT", "phone.example", "other.example:8443"},
			[]string{"localhost:1", "phone.example:1", "other.example", "evil.example"}},
		{"unix:" + filepath.Join(dir, "s"), []string{"phone.example"}, []string{"localhost", "localhost:1", "localhost:65535", "127.0.0.1:1", "phone.example"},
			[]string{"evil.example", "localhost.evil.example:1", "[::1]:1", ""}},
	} {
		s, err := Start(Options{Listen: c.listen, Hosts: c.hosts, Dir: filepath.Join(dir, "web")})
		testkit.Must(t, err)
		defer func() { testkit.Must(t, errors.Join(s.listener.Close(), s.address.remove())) }()
		port := "none"
		if tcp, ok := s.listener.Addr().(*net.TCPAddr); ok {
			_, port, err = net.SplitHostPort(tcp.String())
			testkit.Must(t, err)
		}
		ask := func(host string) int {
			r := httptest.NewRequest("GET", "/f/none", nil) // without a token: 401 where the host is taken
			r.Host = strings.ReplaceAll(host, "PORT", port)
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, r)
			return w.Code
		}
		for _, host := range c.taken {
			if got := ask(host); got != http.StatusUnauthorized {
				t.Errorf("%s with %q: %q is answered with %d", c.listen, c.hosts, host, got)
			}
		}
		for _, host := range c.refused {
			if got := ask(host); got != http.StatusMisdirectedRequest {
				t.Errorf("%s with %q: %q is answered with %d", c.listen, c.hosts, host, got)
			}
		}
	}
}

// TestWhoCannotBeFoundMayNotAct: the process that has sent a request over TCP holds its end of the
// connection no more, so it may not act; the refusal names the socket, over which it may.
func TestWhoCannotBeFoundMayNotAct(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	testkit.Must(t, err)
	served, err := l.Accept()
	testkit.Must(t, err)
	defer served.Close()
	r := httptest.NewRequest("POST", "/a/none/stop", nil)
	of := func(c net.Conn) *http.Request {
		return r.WithContext(context.WithValue(context.Background(), connection{}, c))
	}
	if err := (&Server{}).mayAct(of(served)); err != nil {
		t.Errorf("this process, which can be found, may not act: %v", err)
	}
	syscall.ForkLock.RLock() // no child that another test is starting holds it, too
	err = client.Close()
	syscall.ForkLock.RUnlock()
	testkit.Must(t, err)
	for name, request := range map[string]*http.Request{"a closed connection": of(served), "no connection": r} {
		err := (&Server{}).mayAct(request)
		if !errors.Is(err, caller.ErrUnknown) || !strings.Contains(err.Error(), "--listen unix:PATH") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnotherUserMayNotAct, whatever its processes are. One of this user that is outside of this PID
// namespace may: it is no agent's.
func TestAnotherUserMayNotAct(t *testing.T) {
	t.Parallel()
	for _, pids := range [][]int{{0}, {os.Getpid()}} {
		if err := mayActAs(os.Getuid()+1, pids, "/a/none/stop"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("user %d may not act", os.Getuid()+1)) {
			t.Errorf("another user's processes %v: %v", pids, err)
		}
		if err := mayActAs(os.Getuid(), pids, "/a/none/stop"); err != nil {
			t.Errorf("this user's processes %v: %v", pids, err)
		}
	}
}
