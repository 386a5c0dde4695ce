package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
)

// TestWhoReadsSlowlyDelaysNobody: a reader that stops reading is given up, one that is slow gets
// all, and neither the run nor other readers wait for them meanwhile.
func TestWhoReadsSlowlyDelaysNobody(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "head -c 6000 /dev/zero | tr '\\0' x >../line; echo >>../line; for i in $(seq 200); do cat ../line; done"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "until [ -e ../go ]; do sleep 0.01; done"}]}`, nil)
	s.server.patience = 2 * time.Second
	var busy atomic.Int64
	served := s.server.http.Handler
	s.server.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		busy.Add(1)
		defer busy.Add(-1)
		served.ServeHTTP(w, r)
	})
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Done, nil) }()
	large := "/f" + s.at("/codon?id=a")
	eventually(t, "at the second codon", func() bool {
		status, text := s.send("GET", "/f"+s.at(""), s.server.Address().Look, nil)
		return status == http.StatusOK && strings.Contains(text, "running</span> <a href=\""+s.at("/codon?id=b")+"\"")
	})
	whole := len(s.get("/codon?id=a"))
	if whole < 1<<20 {
		t.Fatalf("the page has %d bytes", whole)
	}
	raw := func(path string, buffer int) *net.TCPConn {
		t.Helper()
		c, err := net.Dial("tcp", s.server.Address().Listen)
		testkit.Must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		testkit.Must(t, c.(*net.TCPConn).SetReadBuffer(buffer))
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, s.server.Address().Listen, s.server.Address().Look)
		testkit.Must(t, err)
		return c.(*net.TCPConn)
	}
	slow := raw(large, 64<<10)
	for range 8 {
		raw(large, 4<<10)
	}
	raw("/stream?on="+s.at(""), 4<<10) // what it is told fits into its buffers

	got := make(chan int64, 1)
	go func() {
		answer, err := http.ReadResponse(bufio.NewReaderSize(slow, 4096), nil)
		if err != nil {
			got <- -1
			return
		}
		var n int64
		for part := int64(16 << 10); ; time.Sleep(40 * time.Millisecond) { // longer than the patience, all in all
			read, err := io.CopyN(io.Discard, answer.Body, part)
			if n += read; err != nil {
				break
			}
		}
		got <- n
	}()
	for range 10 {
		if status, _ := s.send("GET", "/f"+s.at(""), s.server.Address().Look, nil); status != http.StatusOK {
			t.Errorf("another reader: %d", status)
		}
	}
	testkit.Write(t, s.root+"/go", "")
	testkit.Must(t, <-ended)
	if n := <-got; n != int64(whole) {
		t.Errorf("who reads slowly has got %d bytes of %d", n, whole)
	}
	eventually(t, "given up those that do not read", func() bool { return busy.Load() <= 1 }) // the stream
}

// TestAPageThatTakesLongIsShownLessOften: what viewers take of the processors does not grow with
// the plan.
func TestAPageThatTakesLongIsShownLessOften(t *testing.T) {
	t.Parallel()
	s := &Server{}
	if s.rests("a") {
		t.Error("a page that nobody has made is not told of")
	}
	for _, c := range []struct {
		ago, took time.Duration
		want      bool
	}{{time.Second, time.Second, true}, {time.Minute, time.Second, false}, {time.Minute, time.Hour, false}, {time.Second, 10 * time.Millisecond, false}} {
		s.made.Store("a", making{time.Now().Add(-c.ago), c.took})
		if s.rests("a") != c.want || s.rests("b") {
			t.Errorf("a page made %s ago within %s: rests %t", c.ago, c.took, !c.want)
		}
	}
}
