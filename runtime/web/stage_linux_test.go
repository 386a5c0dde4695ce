package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/recovery"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/report"
	"hank/runtime/request"
	"hank/runtime/web/page"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// stage is an execution and a server that shows it.
type stage struct {
	t       *testing.T
	root    string
	hank    string
	server  *Server
	reached atomic.Int64 // requests that the guard has let pass
}

// stageOf serves, and has a hank that was not run yet.
func stageOf(t *testing.T, hank string, change func(*Options)) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, root: filepath.Join(dir, "x"), hank: filepath.Join(dir, "hank.json")}
	testkit.Write(t, s.hank, hank)
	o := Options{Pages: page.New(report.Settings{}, func(text string) string { return text }), Listen: "127.0.0.1:0", Acts: true, Dir: filepath.Join(dir, "web")}
	if change != nil {
		change(&o)
	}
	server, err := Start(o)
	testkit.Must(t, err)
	routes := server.routes()
	server.http.Handler = server.guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/favicon.ico" { // a browser asks for it by itself, at the address of what was refused
			s.reached.Add(1)
		}
		routes.ServeHTTP(w, r)
	}))
	s.server = server
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// run runs the hank, and wants an exit code.
func (s *stage) run(want exitcode.Code, change func(*request.Request)) {
	s.t.Helper()
	if err := s.runs(want, change); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) runs(want exitcode.Code, change func(*request.Request)) error {
	r := request.Request{Mode: request.ModeRun, Execution: s.root, Hank: s.hank, Environ: os.Environ()}
	if change != nil {
		change(&r)
	}
	got, err := runtime.Run(context.Background(), r, runtime.Answers{Yes: true}, runtime.UI{})
	if err != nil {
		return err
	}
	if got.Code != want {
		return fmt.Errorf("the run ended with %d: %+v", got.Code, got)
	}
	return nil
}

func (s *stage) view() *recovery.View {
	s.t.Helper()
	v, err := recovery.Read(s.root)
	testkit.Must(s.t, err)
	return v
}

// base is the address of the server, without the token.
func (s *stage) base() string { return "http://" + s.server.Address().Listen }

// send sends a request with a token, and returns status and body.
func (s *stage) send(method, path, token string, body any) (int, string) {
	s.t.Helper()
	text, err := json.Marshal(body)
	testkit.Must(s.t, err)
	r, err := http.NewRequest(method, s.base()+path, bytes.NewReader(text))
	testkit.Must(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	testkit.Must(s.t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	testkit.Must(s.t, err)
	return answer.StatusCode, string(got)
}

// get is a page of the execution.
func (s *stage) get(rest string) string {
	s.t.Helper()
	status, text := s.send("GET", "/f"+s.at(rest), s.server.Address().Act, nil)
	if status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", rest, status, text)
	}
	return text
}

// at is the address of a page of the execution.
func (s *stage) at(rest string) string { return "/x/" + nameOf(s.root) + rest }

// nameOf is the name of an execution in addresses, which people may have kept.
func nameOf(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:6])
}

// data are the values that a page gives to an act.
func data(t *testing.T, text, act string) map[string]any {
	t.Helper()
	button := regexp.MustCompile(`<button[^>]*data-act="` + act + `"[^>]*>`).FindString(text)
	if button == "" {
		t.Fatalf("the page does not offer to %s: %s", act, text)
	}
	about := map[string]any{}
	for _, m := range regexp.MustCompile(`data-([a-z]+)="([^"]*)"`).FindAllStringSubmatch(button, -1) {
		if m[1] != "act" && m[1] != "x" {
			about[m[1]] = html.UnescapeString(m[2])
		}
	}
	var seq uint64
	_, err := fmt.Sscan(fmt.Sprint(about["seq"]), &seq)
	testkit.Must(t, err)
	about["seq"] = seq
	return about
}

// with is a copy with one value changed.
func with(about map[string]any, name string, value any) map[string]any {
	changed := map[string]any{}
	for k, v := range about {
		changed[k] = v
	}
	changed[name] = value
	return changed
}

// tunnel forwards a port of the loopback to a Unix socket, as ssh -L does.
func tunnel(t *testing.T, path string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", path)
			if err != nil {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(far, near); _ = far.(*net.UnixConn).CloseWrite() }()
			go func() { _, _ = io.Copy(near, far); _ = near.Close(); _ = far.Close() }()
		}
	}()
	return strings.Replace(l.Addr().String(), "127.0.0.1", "localhost", 1)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: not %s", what)
		}
	}
}
