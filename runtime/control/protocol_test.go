package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// run is a service that stops, has a status, and sends what the test gives it.
type run struct {
	stops   atomic.Int32
	peer    atomic.Int64
	updates chan Update // closed when the run is over
}

func (r *run) service() Service {
	return Service{
		Handle: func(q Request) Response {
			r.peer.Store(int64(q.Peer))
			switch {
			case q.Arguments != nil:
				return Response{Error: q.Command + " takes no arguments"}
			case q.Command == "stop":
				r.stops.Add(1)
				return Response{OK: true}
			case q.Command == "status":
				return Response{OK: true, Status: []byte(`{"runId":"r"}`)}
			}
			return Response{Error: "unknown command " + q.Command}
		},
		Follow: func(ctx context.Context, _ Subscription, send func(Update) error) error {
			for {
				select {
				case u, open := <-r.updates:
					if !open {
						return nil
					}
					if err := send(u); err != nil {
						return err
					}
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
	}
}

// listening starts a run's server.
func listening(t *testing.T) (*run, *Server, string) {
	t.Helper()
	r, path := &run{updates: make(chan Update)}, filepath.Join(t.TempDir(), "s")
	s, err := Listen(path, r.service())
	if err != nil {
		t.Fatal(err)
	}
	return r, s, path
}

// talk sends lines as they are and returns the lines that come back, until the
// server hangs up or so many have come.
func talk(t *testing.T, path string, most int, lines ...string) []string {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(strings.Join(lines, ""))); err != nil {
		t.Fatal(err)
	}
	var back []string
	for in := bufio.NewScanner(conn); len(back) < most && in.Scan(); {
		back = append(back, in.Text())
	}
	return back
}

// What a client of version 1 says, a run answers as it always did, to the byte.
func TestVersion1IsAnsweredAsBefore(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	defer s.Close()
	for _, c := range []struct {
		say, answer string
		stops       int32
	}{
		{`{"version":1,"command":"status"}`, `{"version":1,"ok":true,"status":{"runId":"r"}}`, 0},
		{`{"version":1,"command":"stop"}`, `{"version":1,"ok":true}`, 1},
		{`{"version":1,"command":"stop","id":9,"arguments":{"x":1}}`, `{"version":1,"ok":true}`, 2},
		{`{"version":1,"command":"stop","confirm":true}`, `{"version":1,"ok":true,"confirm":true}`, 2},
		{`{"version":1,"command":"stop","confirm":true}` + "\n" + `{"version":1,"command":"confirm"}`, `{"version":1,"ok":true,"confirm":true}|{"version":1,"ok":true}`, 3},
		{`{"version":1,"command":"stop","confirm":true}` + "\n" + `{"version":1,"command":"status"}` + "\n" + `{"version":1,"command":"confirm"}`,
			`{"version":1,"ok":true,"confirm":true}|{"version":1,"ok":true,"status":{"runId":"r"}}|{"version":1,"ok":false,"error":"there is nothing to confirm"}`, 3},
		{`{"version":1,"command":"confirm"}`, `{"version":1,"ok":false,"error":"there is nothing to confirm"}`, 3},
		{`{"version":1,"command":"launch"}`, `{"version":1,"ok":false,"error":"unknown command launch"}`, 3},
		{`{"version":1,"command":"subscribe"}`, `{"version":1,"ok":false,"error":"unknown command subscribe"}`, 3},
	} {
		most := strings.Count(c.answer, "|") + 1
		if got := strings.Join(talk(t, path, most, c.say+"\n"), "|"); got != c.answer || r.stops.Load() != c.stops {
			t.Errorf("%s\ngot  %s\nwant %s (%d stops)", c.say, got, c.answer, r.stops.Load())
		}
	}
}

func TestAConnectionCarriesManyRequests(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	defer s.Close()
	want := []string{
		`{"version":2,"id":5,"ok":true,"status":{"runId":"r"}}`,
		`{"version":2,"id":5,"ok":false,"error":"unknown command launch"}`, // ids are the client's
		`{"version":2,"id":6,"ok":false,"error":"stop takes no arguments"}`,
		`{"version":2,"ok":false,"error":"a request of version 2 has an id, a number from 1 on"}`,
		`{"version":2,"ok":false,"error":"the request is not a JSON object with version and command"}`,
		`{"version":2,"ok":false,"error":"the request is not a JSON object with version and command"}`,
		`{"version":2,"id":7,"ok":false,"error":"arguments are an object"}`,
		`{"version":2,"id":8,"ok":false,"error":"this hank knows the versions 1 and 2 of the control protocol, not 3"}`,
		`{"version":2,"id":9,"ok":true,"confirm":true}`,
		`{"version":2,"id":10,"ok":false,"error":"there is nothing to confirm"}`, // another id
		`{"version":2,"id":9,"ok":false,"error":"there is nothing to confirm"}`,  // forgotten by then
		`{"version":2,"id":11,"ok":true,"confirm":true}`,
		`{"version":1,"ok":false,"error":"there is nothing to confirm"}`, // another version
		`{"version":2,"id":12,"ok":true,"confirm":true}`,
		`{"version":2,"id":12,"ok":true}`,
	}
	got := talk(t, path, len(want),
		`{"version":2,"id":5,"command":"status"}`+"\n", `{"version":2,"id":5,"command":"launch"}`+"\n", `{"version":2,"id":6,"command":"stop","arguments":{"at":1}}`+"\n",
		`{"version":2,"command":"status"}`+"\n", `{"version":2,"id":"x","command":"stop"}`+"\n", `{"version":2,"id":-1,"command":"stop"}`+"\n",
		`{"version":2,"id":7,"command":"stop","arguments":[]}`+"\n", `{"version":3,"id":8,"command":"stop"}`+"\n",
		`{"version":2,"id":9,"command":"stop","confirm":true}`+"\n", `{"version":2,"id":10,"command":"confirm"}`+"\n", `{"version":2,"id":9,"command":"confirm"}`+"\n",
		`{"version":2,"id":11,"command":"stop","confirm":true}`+"\n", `{"version":1,"command":"confirm"}`+"\n",
		`{"version":2,"id":12,"command":"stop","confirm":true}`+"\n", `{"version":2,"id":12,"command":"confirm"}`+"\n")
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("%d: got %q\nwant %s", i, got[min(i, len(got)):], want[i])
		}
	}
	if r.stops.Load() != 1 {
		t.Errorf("stopped %d times", r.stops.Load())
	}
	if r.peer.Load() <= 0 {
		t.Errorf("asked by process %d", r.peer.Load())
	}
}

// old is a run of a hank that only knows version 1: what its server did.
func old(t *testing.T, path string) *atomic.Int32 {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var stops atomic.Int32
	answer := func(text []byte, pending *Request) (Response, *Request) {
		var r Request
		if err := json.Unmarshal(text, &r); err != nil {
			return Response{Error: "the request is not a JSON object with version and command"}, nil
		}
		switch {
		case r.Version != 1:
			return Response{Error: fmt.Sprintf("this hank speaks version %d of the control protocol, not %d", 1, r.Version)}, nil
		case r.Command == "confirm" && pending != nil:
			stops.Add(1)
			return Response{OK: true}, nil
		case r.Command == "confirm":
			return Response{Error: "there is nothing to confirm"}, nil
		case r.Confirm:
			return Response{OK: true, Confirm: true}, &r
		case r.Command == "status":
			return Response{OK: true, Status: []byte(`{"runId":"old"}`)}, nil
		}
		return Response{Error: "unknown command " + r.Command}, nil
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var pending *Request
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					var r Response
					r, pending = answer(lines.Bytes(), pending)
					r.Version = 1
					text, _ := json.Marshal(r)
					_, _ = conn.Write(append(text, '\n'))
				}
			}()
		}
	}()
	return &stops
}

func TestARunOfAnOlderHankIsAskedInItsVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	stops := old(t, path)
	ctx := context.Background()
	if r, err := Call(ctx, path, Request{Command: "stop", Confirm: true}); err != nil || !r.OK || r.Confirm || stops.Load() != 1 {
		t.Errorf("stop: %+v, %v, %d stops", r, err, stops.Load())
	}
	c, err := dial(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for range 2 {
		if r, err := c.call(ctx, Request{Command: "status"}); err != nil || string(r.Status) != `{"runId":"old"}` {
			t.Errorf("status: %+v, %v", r, err)
		}
	}
	if r, err := c.call(ctx, Request{Command: "launch"}); err != nil || r.OK || r.Error != "unknown command launch" {
		t.Errorf("launch: %+v, %v", r, err)
	}
	for range 2 { // after it has told its version, and before
		if err := c.follow(ctx, Subscription{Events: true}, func(Update) error { return nil }); !errors.Is(err, errOldVersion) {
			t.Errorf("followed: %v", err)
		}
		if c, err = dial(ctx, path); err != nil {
			t.Fatal(err)
		}
		defer c.close()
	}
}

func TestASubscriberGetsUpdatesBetweenAnswersUntilTheEnd(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewScanner(conn)
	say := func(text string) { fmt.Fprintln(conn, text) }
	hear := func(want string) {
		t.Helper()
		if !in.Scan() || in.Text() != want {
			t.Fatalf("got  %s (%v)\nwant %s", in.Text(), in.Err(), want)
		}
	}
	for _, wrong := range []string{`{}`, `{"events":false}`, `{"event":true}`, `{"events":true,"from":-1}`} {
		say(`{"version":2,"id":1,"command":"subscribe","arguments":` + wrong + `}`)
		if !in.Scan() || !strings.Contains(in.Text(), `"ok":false`) {
			t.Errorf("%s: %s", wrong, in.Text())
		}
	}
	say(`{"version":2,"id":4,"command":"subscribe","arguments":{"events":true,"status":true}}`)
	hear(`{"version":2,"id":4,"ok":true}`)
	r.updates <- Update{Event: &Event{Seq: 17, ID: "e", Timestamp: time.Unix(1e9, 0).UTC(), Type: "T", Data: []byte(`{"a": 1}`)}}
	hear(`{"version":2,"id":4,"event":{"seq":17,"id":"e","timestamp":"2001-09-09T01:46:40Z","type":"T","data":{"a":1}}}`)
	say(`{"version":2,"id":5,"command":"subscribe","arguments":{"events":true}}`)
	hear(`{"version":2,"id":5,"ok":false,"error":"this connection has a subscription already"}`)
	say(`{"version":2,"id":6,"command":"stop"}`)
	hear(`{"version":2,"id":6,"ok":true}`)
	r.updates <- Update{Missed: &Missed{After: 17, Next: 20}}
	hear(`{"version":2,"id":4,"missed":{"after":17,"next":20}}`)
	r.updates <- Update{Status: []byte(`{"runId":"r"}`)}
	hear(`{"version":2,"id":4,"status":{"runId":"r"}}`)
	close(r.updates)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	hear(`{"version":2,"id":4,"end":true}`)
	if in.Scan() {
		t.Errorf("then %s", in.Text())
	}
}

// The run's end is not held up by those who follow it or have connected: not by one
// that does not read, and not by one that says nothing.
func TestNoClientHoldsUpTheEnd(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	s.mu.Lock()
	s.grace = 50 * time.Millisecond
	s.mu.Unlock()
	silent, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	deaf, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	fmt.Fprintln(deaf, `{"version":2,"id":1,"command":"subscribe","arguments":{"events":true}}`)
	big := Update{Event: &Event{Data: []byte(`"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"`)}}
	r.updates <- big // is being written, and never taken
	ended := make(chan error)
	began := time.Now()
	go func() { ended <- s.Close() }() // r.updates stays open: the subscription would not end by itself
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(idle / 2):
		t.Fatalf("not closed after %s", time.Since(began))
	}
}

// A subscriber that does not read is disconnected, and takes no place any more.
func TestASubscriberThatDoesNotReadIsDisconnected(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	defer s.Close()
	defer close(r.updates)
	s.mu.Lock()
	s.idle = 50 * time.Millisecond
	s.mu.Unlock()
	deaf, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	fmt.Fprintln(deaf, `{"version":2,"id":1,"command":"subscribe","arguments":{"events":true}}`)
	r.updates <- Update{Event: &Event{Data: []byte(`"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"`)}}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		left := len(s.connections) + s.followers
		s.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it is still connected")
		}
	}
}

// Half of the places are never taken by subscribers, so that a run can be stopped.
func TestSubscribersLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	defer s.Close()
	defer close(r.updates)
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	subscribe := func() error {
		c, err := dial(ctx, path)
		if err != nil {
			return err
		}
		defer c.close()
		return c.follow(ctx, Subscription{Status: true}, func(Update) error { return nil })
	}
	for range maxSubscriptions {
		wait.Go(func() {
			if err := subscribe(); !errors.Is(err, context.Canceled) {
				t.Errorf("followed: %v", err)
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n := s.followers
		s.mu.Unlock()
		if n == maxSubscriptions {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d subscriptions", n)
		}
	}
	if err := subscribe(); err == nil || !strings.Contains(err.Error(), "read the journal") {
		t.Errorf("one more: %v", err)
	}
	if a, err := Call(ctx, path, Request{Command: "stop", Confirm: true}); err != nil || !a.OK {
		t.Errorf("%+v, %v", a, err)
	}
}

// A process that a codon has started may connect, too. However many connections are open
// and silent, the user's request is taken, and one that waits for its confirmation is not
// forgotten for the next one that connects.
func TestSilentClientsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	defer s.Close()
	var open []net.Conn
	connect := func() {
		t.Helper()
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	defer func() {
		for _, conn := range open {
			conn.Close()
		}
	}()
	for range 3 * maxConnections {
		connect()
	}
	c, err := dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.id++
	if a, err := c.exchange(Request{Command: "stop", Confirm: true}); err != nil || !a.Confirm {
		t.Fatalf("%+v, %v", a, err)
	}
	for range maxConnections / 2 {
		connect()
	}
	if a, err := Call(t.Context(), path, Request{Command: "status"}); err != nil || !a.OK {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := c.exchange(Request{Command: confirmation}); err != nil || !a.OK || r.stops.Load() != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.connections); n > maxConnections {
		t.Errorf("%d connections", n)
	}
}

// Lines that are too long, cut, or no requests end a connection at most.
func TestBadInputHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	r, s, path := listening(t)
	defer s.Close()
	long := `{"version":2,"id":1,"command":"` + strings.Repeat("x", longestLine) + `"}`
	if got := talk(t, path, 2, long); len(got) != 1 || !strings.Contains(got[0], "at most") {
		t.Errorf("a long line: %q", got)
	}
	for _, half := range []string{`{"version":2,"id":1,"command":"stop"`, `{"version":2,"id":1,"command":"subscribe","arguments":{"events":true}}` + "\n" + `{"version":`} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, half)
		conn.Close()
	}
	flood := strings.Repeat(`{"version":2,"id":1,"command":"status"}`+"\n", 1000)
	if got := talk(t, path, 1000, flood); len(got) != 1000 {
		t.Errorf("a flood: %d answers", len(got))
	}
	if a, err := Call(context.Background(), path, Request{Command: "stop", Confirm: true}); err != nil || !a.OK || r.stops.Load() != 1 {
		t.Errorf("%+v, %v; stopped %d times", a, err, r.stops.Load())
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		left := s.followers
		s.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a subscription outlives its client")
		}
	}
}
