package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func serve(t *testing.T, path string) *Server {
	t.Helper()
	s, err := Listen(path, Service{Handle: func(r Request) Response {
		if r.Command == "stop" {
			return Response{OK: true}
		}
		return Response{Error: "no " + r.Command}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARunAnswersWhereverItsExecutionIs(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"short": t.TempDir(), "long": filepath.Join(t.TempDir(), strings.Repeat("d", 120))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "control.sock")
		s := serve(t, path)
		for range 3 {
			r, err := Call(context.Background(), path, Request{Command: "stop"})
			if err != nil || !r.OK || r.Version != newestVersion {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
		}
		if fi, err := os.Stat(s.real); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, fi.Mode(), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
		if _, err := Call(context.Background(), path, Request{Command: "stop"}); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: after the end: %v", name, err)
		}
	}
}

// The directory that the socket of a killed run had for itself goes with the next run.
func TestTheDirectoryOfADeadRunsSocketIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "control.sock")
	dead := serve(t, path)
	dead.listener.(*net.UnixListener).SetUnlinkOnClose(false)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dead.listener.Close() // as a kill does
	s := serve(t, path)
	if _, err := os.Stat(filepath.Dir(dead.real)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dead.real, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, other := range []string{filepath.Join(t.TempDir(), "hank-1", "s"), filepath.Join(t.TempDir(), "mine", "s"), filepath.Join(t.TempDir(), "hank-2", "x")} {
		if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{other: "a file of somebody", path: strings.Replace(string(text), dead.real, other, 1)} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		removeDistant(path)
		if _, err := os.Stat(other); err != nil {
			t.Errorf("%s is no socket of a run: %v", other, err)
		}
	}
}

func TestTheSocketOfADeadRunIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if _, err := Call(context.Background(), path, Request{Command: "stop"}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a dead socket: %v", err)
	}
	s := serve(t, path)
	defer s.Close()
	if r, err := Call(context.Background(), path, Request{Command: "stop"}); err != nil || !r.OK {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRubbishAndFloodsDoNotStopTheServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.sock")
	s := serve(t, path)
	defer s.Close()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			conn, err := net.Dial("unix", path)
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = conn.Write([]byte(strings.Repeat("x", i*4096)))
		}()
	}
	wg.Wait()
	for range 100 { // slots come free as the server notices the hang-ups
		if r, err := Call(context.Background(), path, Request{Command: "stop"}); err == nil && r.OK {
			return
		}
	}
	t.Error("the server does not answer any more")
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"version":1,"command":"stop"}`, `{"version":3,"command":"stop"}`, `{}`, `[]`, `"`, "\x00", `{"version":1e400}`,
		`{"version":2,"id":1,"command":"stop","confirm":true}`, `{"version":2,"id":1,"command":"confirm"}`, `{"version":2,"id":-1,"command":"stop"}`,
		`{"version":2,"id":1,"command":"subscribe","arguments":{"events":true,"from":17}}`, `{"version":2,"id":1,"command":"subscribe","arguments":[]}`,
		`{"version":2,"id":18446744073709551616,"command":"stop"}`, `{"version":2,"id":1,"id":2,"command":"stop"}`,
	} {
		f.Add([]byte(s))
	}
	s := newServer(Service{
		Handle: func(r Request) Response {
			if r.Command != "stop" {
				return Response{Error: "no " + r.Command}
			}
			return Response{OK: true}
		},
		Follow: func(context.Context, Subscription, func(Update) error) error { return nil },
	})
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &connection{server: s, peer: 7}
		r, wants := c.answer(text)
		if wants != nil {
			s.unreserve()
		}
		if r.OK == (r.Error != "") {
			t.Errorf("%q: neither yes nor why not: %+v", text, r)
		}
		if r.Version != 1 && r.Version != 2 || r.Version == 1 && (r.ID != 0 || wants != nil) || r.OK && r.Version == 2 && r.ID == 0 {
			t.Errorf("%q: answered by %+v", text, r)
		}
		if r.Confirm != (c.pending != nil) || r.Confirm && c.pending.Peer != 7 {
			t.Errorf("%q: waits for %+v", text, c.pending)
		}
		if _, err := line(r); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// Opening the socket changes nothing for what else the process writes: once a
// umask, set for that moment, took the exec bit from a file being restored.
func TestListeningLeavesTheModesOfOtherFilesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop, wrong := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(wrong)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := filepath.Join(dir, "script")
			if err := os.WriteFile(name, nil, 0o755); err != nil {
				wrong <- err.Error()
				return
			}
			if fi, err := os.Stat(name); err != nil || fi.Mode().Perm()&0o100 == 0 {
				wrong <- fmt.Sprintf("file %d: %v, %v", i, fi.Mode(), err)
				return
			}
			_ = os.Remove(name)
		}
	}()
	for range 500 {
		if err := serve(t, filepath.Join(dir, "s")).Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if said, bad := <-wrong; bad {
		t.Error(said)
	}
}

// A run that does not answer in time does not do later what it was asked.
func TestARequestIsTakenBackWhereTheRunDoesNotAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.sock")
	stuck, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}) // connects, and is not served: as a stopped process
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Call(soon, path, Request{Command: "stop", Confirm: true}); !errors.Is(err, ErrNoAnswer) {
		t.Fatalf("%v", err)
	}
	handled := 0
	s := newServer(Service{Handle: func(Request) Response { handled++; return Response{OK: true} }})
	conn, err := stuck.Accept() // it continues
	if err != nil {
		t.Fatal(err)
	}
	(&connection{server: s, conn: conn}).serve()
	if handled != 0 {
		t.Error("it was carried out after its client had gone")
	}
}

func TestARequestIsCarriedOutOnceItIsConfirmed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.sock")
	var handled atomic.Int32
	s, err := Listen(path, Service{Handle: func(r Request) Response {
		handled.Add(1)
		return Response{OK: r.Command == "stop"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := Call(context.Background(), path, Request{Command: "stop", Confirm: true}); err != nil || !r.OK || handled.Load() != 1 {
		t.Errorf("%+v %v, %d times", r, err, handled.Load())
	}
	if r, err := Call(context.Background(), path, Request{Command: "confirm"}); err != nil || r.OK || handled.Load() != 1 {
		t.Errorf("nothing to confirm: %+v %v, %d times", r, err, handled.Load())
	}
}

// Nobody knows what became of a confirmed request whose answer does not come.
func TestARequestThatWasConfirmedIsNotCalledTakenBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // takes the confirmation, and ends
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		lines := bufio.NewScanner(conn)
		lines.Scan()
		fmt.Fprintln(conn, `{"version":2,"id":1,"ok":true,"confirm":true}`)
		lines.Scan()
	}()
	if _, err := Call(context.Background(), path, Request{Command: "stop", Confirm: true}); !errors.Is(err, ErrNotKnown) {
		t.Errorf("%v", err)
	}
}
