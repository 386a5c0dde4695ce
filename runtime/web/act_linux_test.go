package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/internal/short"
	"hank/recovery"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/live"
	"hank/runtime/report"
	"hank/runtime/request"
	"hank/runtime/web/page"
	"hank/state"
)

const gated = `{"meta": {"name": "Gated", "version": "1.0.0"}, "hank": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo one >one.txt; echo said; echo '<script>document.title = 1</script><img src=x onerror=alert(1)>'"},
  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo two >two.txt",
   "gate": {"id": "ok", "when": "after", "kind": "approve", "summary": "Good?"}},
  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo three >three.txt"}]}`

func (s *stage) audit() (list []entry) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.server.o.Dir, auditName))
	if os.IsNotExist(err) {
		return nil
	}
	testkit.Must(s.t, err)
	for line := range strings.Lines(string(text)) {
		var e entry
		testkit.Must(s.t, json.Unmarshal([]byte(line), &e))
		list = append(list, e)
	}
	return list
}

// TestAnActIsAboutWhatThePersonSaw: another execution, another event, another place and
// another checkpoint are refused, and what was refused has changed nothing.
func TestAnActIsAboutWhatThePersonSaw(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	text := s.get("/gate")
	if !strings.Contains(text, "two.txt") {
		t.Errorf("the page of the gate lacks the difference: %s", text)
	}
	about := data(t, text, "approve")
	act := s.server.Address().Act
	for _, c := range []struct {
		what, act, token string
		about            map[string]any
		want             int
	}{
		{"of another lineage", "approve", act, with(about, "lineage", "other"), 409},
		{"of none", "approve", act, with(about, "lineage", ""), 409},
		{"of an event to come", "approve", act, with(about, "seq", uint64(1<<40)), 409},
		{"of another place", "approve", act, with(about, "standing", "other"), 409},
		{"of another checkpoint", "approve", act, with(about, "checkpoint", strings.Repeat("0", 40)), 409},
		{"of no checkpoint", "approve", act, with(about, "checkpoint", ""), 400},
		{"with something unknown", "approve", act, with(about, "force", "1"), 400},
		{"unknown", "explode", act, about, 400},
		{"to look", "approve", s.server.Address().Look, about, 403},
	} {
		if status, said := s.send("POST", "/a/"+nameOf(s.root)+"/"+c.act, c.token, c.about); status != c.want {
			t.Errorf("an act %s: %d %s", c.what, status, said)
		}
	}
	if status, _ := s.send("GET", "/a/"+nameOf(s.root)+"/approve", act, about); status == http.StatusOK && s.view().State.Gates[0].Answer != nil {
		t.Error("a GET has answered")
	}
	if g := s.view().State.Gates[0]; g.Status != state.GatePending {
		t.Fatalf("what was refused has answered: %+v", g)
	}
	if status, said := s.send("POST", "/a/"+nameOf(s.root)+"/approve", act, about); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	g := s.view().State.Gates[0]
	if g.Status != state.GateApproved || !slices.Equal(g.Answer.By.Argv, []string{"hank", "web"}) {
		t.Errorf("%s by %+v", g.Status, g.Answer)
	}
	if status, said := s.send("POST", "/a/"+nameOf(s.root)+"/reject", act, about); status != http.StatusConflict {
		t.Errorf("what was seen before the answer: %d %s", status, said)
	}
	list := s.audit()
	at := slices.IndexFunc(list, func(e entry) bool { return e.Status == http.StatusOK })
	if len(list) != 11 || at != 9 {
		t.Fatalf("%d lines of audit, the act at %d: %+v", len(list), at, list)
	}
	e := list[at]
	if e.UID != os.Getuid() || !slices.Contains(e.PIDs, os.Getpid()) || e.Via != "tcp" || e.Execution != s.root || e.Act != "approve" || string(e.Checkpoint) != fmt.Sprint(about["checkpoint"]) || e.Seq != about["seq"] {
		t.Errorf("audit: %+v", e)
	}
}

// TestAStopIsForWhatThePersonSaw: the run may come to another codon between the look at it and
// the moment at which it takes the request; it then refuses.
func TestAStopIsForWhatThePersonSaw(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "until [ -e ../a ]; do sleep 0.01; done"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "sleep 600"}]}`, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Stopped, nil) }()
	at := func(id state.CodonID) (seen control.Target) {
		t.Helper()
		eventually(t, "at codon "+string(id), func() bool {
			v, err := recovery.Read(s.root)
			if err != nil {
				return false
			}
			seen = control.TargetOf(v.State)
			return seen.Codon == id && v.State.Newest().Live().Status == state.Running
		})
		return seen
	}
	before := at("a")
	page := data(t, s.get(""), "stop")
	testkit.Write(t, filepath.Join(s.root, "a"), "")
	at("b")
	for _, name := range []string{"stop", "stop-after-codon", "skip"} {
		said, err := acts[name](context.Background(), s.root, asked{seen: before})
		if err == nil || statusOf(err) != http.StatusConflict {
			t.Errorf("%s of what has ended: %q, %v", name, said, err)
		}
	}
	act, path := s.server.Address().Act, "/a/"+nameOf(s.root)+"/stop"
	if status, said := s.send("POST", path, act, page); status != http.StatusConflict {
		t.Errorf("the page of before: %d %s", status, said)
	}
	if answer, err := live.Ask(context.Background(), s.root); err != nil || answer.CodonID != "b" || answer.Stopping != "" {
		t.Errorf("what was refused has an effect: %+v, %v", answer, err)
	}
	eventually(t, "a stop from a page that shows what runs now", func() bool {
		status, _ := s.send("POST", path, act, data(t, s.get(""), "stop"))
		return status == http.StatusOK
	})
	testkit.Must(t, <-ended)
	if said, err := acts["stop"](context.Background(), s.root, asked{seen: before}); err == nil || statusOf(err) != http.StatusConflict {
		t.Errorf("a stop after the end of the run: %q, %v", said, err)
	}
}

// TestARollbackIsTheOneOfThePreview: what the preview does not say is refused.
func TestARollbackIsTheOneOfThePreview(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	about := data(t, s.get("/rollback?to=a"), "rollback")
	act, path := s.server.Address().Act, "/a/"+nameOf(s.root)+"/rollback"
	if status, said := s.send("POST", path, act, with(about, "digest", "other")); status != http.StatusConflict || !testkit.Exists(s.view().Layout.Workspace+"/two.txt") {
		t.Fatalf("another preview: %d %s", status, said)
	}
	testkit.Write(t, s.view().Layout.Workspace+"/one.txt", "of a person")
	if status, said := s.send("POST", path, act, about); status != http.StatusConflict {
		t.Fatalf("a workspace that was changed since: %d %s", status, said)
	}
	about = data(t, s.get("/rollback?to=a"), "rollback")
	if status, said := s.send("POST", path, act, about); status != http.StatusOK || testkit.Exists(s.view().Layout.Workspace+"/two.txt") {
		t.Errorf("%d %s", status, said)
	}
}

// TestWhatAPreviewRefusesIsNotOffered: the page says why, and has no button.
func TestWhatAPreviewRefusesIsNotOffered(t *testing.T) {
	t.Parallel()
	s := stageOf(t, gated, nil)
	s.run(exitcode.Waiting, nil)
	workspace := s.view().Layout.Workspace
	testkit.Must(t, os.Remove(filepath.Join(workspace, "one.txt")))
	testkit.Must(t, syscall.Mkfifo(filepath.Join(workspace, "one.txt"), 0o600))
	text := s.get("/rollback?to=a")
	if !strings.Contains(text, "It would be refused: ") || !strings.Contains(text, "one.txt") || strings.Contains(text, `data-act="rollback"`) {
		t.Errorf("a rollback that is refused: %s", text)
	}
	testkit.Must(t, os.Remove(filepath.Join(workspace, "one.txt")))
	testkit.Write(t, filepath.Join(workspace, "one.txt"), "one\n")
	data(t, s.get("/rollback?to=a"), "rollback")
	ended := make(chan error, 1)
	go func() { ended <- s.runs(exitcode.Stopped, func(r *request.Request) { r.Wait = true }) }()
	eventually(t, "a page that says that a run is in progress", func() bool {
		text := s.get("/rollback?to=a")
		return strings.Contains(text, "It would be refused: a run is in progress") && !strings.Contains(text, `data-act="rollback"`)
	})
	eventually(t, "stopped", func() bool {
		_, err := acts["stop"](context.Background(), s.root, asked{seen: control.TargetOf(s.view().State)})
		return err == nil
	})
	testkit.Must(t, <-ended)
}

func init() {
	// post asks as an agent: with the token of the person, over TCP and over the socket.
	testkit.Parts["post"] = func(args []string) error {
		id, token, tcp, path := args[0], args[1], args[2], args[3]
		overSocket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}}}
		for _, c := range []struct {
			client *http.Client
			base   string
		}{{http.DefaultClient, "http://" + tcp}, {overSocket, "http://localhost"}} {
			r, err := http.NewRequest("POST", c.base+"/a/"+id+"/stop", bytes.NewReader([]byte("{}")))
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			answer, err := c.client.Do(r)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				return err
			}
			fmt.Println(answer.StatusCode, strings.Contains(string(text), "may not act on"))
		}
		return nil
	}
}

// TestAnAgentCannotAct: not with the token either, over TCP or over the socket, as a child of
// its codon or on its own.
func TestAnAgentCannotAct(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	self, err := os.Executable()
	testkit.Must(t, err)
	script := `P="__part post $ID $TOKEN1 $TCP $SOCKET"; \"$SELF\" $P >a; env -i \"$SELF\" $P >b; env -i setsid sh -c '(\"$0\" \"$@\" >c0; mv c0 c) &' \"$SELF\" $P; until [ -e c ]; do sleep 0.01; done`
	s := stageOf(t, `{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "`+strings.ReplaceAll(script, `P="__part post $ID $TOKEN1 $TCP $SOCKET"`, `P=\"__part post $ID $TOKEN1 $TCP $SOCKET\"`)+`"}]}`, nil)
	socket := filepath.Join(t.TempDir(), "s")
	other, err := Start(Options{Pages: s.server.o.Pages, Listen: "unix:" + socket, Acts: true, Dir: s.server.o.Dir})
	testkit.Must(t, err)
	other.guard.Act = s.server.guard.Act // one token for both
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- other.Serve(ctx) }()
	defer func() { stop(); <-ended }()
	s.run(exitcode.Done, func(r *request.Request) {
		r.Environ = append(r.Environ, "SELF="+self, "ID="+nameOf(s.root), "TOKEN1="+s.server.Address().Act, "TCP="+s.server.Address().Listen, "SOCKET="+socket)
	})
	for _, name := range []string{"a", "b", "c"} {
		if got := testkit.Read(t, filepath.Join(s.view().Layout.Workspace, name)); got != "403 true\n403 true\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if list := s.audit(); len(list) != 6 || slices.ContainsFunc(list, func(e entry) bool { return e.Status != http.StatusForbidden || len(e.PIDs) == 0 }) {
		t.Errorf("audit: %+v", list)
	}
	if status, said := s.send("POST", "/a/"+nameOf(s.root)+"/stop", s.server.Address().Act, map[string]any{}); status != http.StatusConflict {
		t.Errorf("this process is no agent: %d %s", status, said)
	}
}

// TestAServerIsItsUsersAlone: modes, addresses that are refused, and what is left of it.
func TestAServerIsItsUsersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, at := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.org:80", "unix:relative", "unix:" + dir, "nonsense"} {
		if s, err := Start(Options{Listen: at, Dir: dir}); err == nil {
			t.Errorf("it listens on %s: %+v", at, s.Address())
		}
	}
	socket := filepath.Join(dir, "s")
	s, err := Start(Options{Pages: page.New(report.Settings{}, strings.ToUpper), Listen: "unix:" + socket, Dir: dir})
	testkit.Must(t, err)
	for _, name := range []string{socket, s.address.path} {
		if fi, err := os.Lstat(name); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
	if list, err := Addresses(dir); err != nil || len(list) != 1 || list[0].Look != s.Address().Look || len(list[0].Look) != 43 || list[0].Act != "" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := Start(Options{Listen: "unix:" + socket, Dir: dir}); err == nil {
		t.Error("a second one listens on the same socket")
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	testkit.Must(t, s.Serve(ctx))
	if list, err := Addresses(dir); err != nil || len(list) != 0 || testkit.Exists(socket) {
		t.Errorf("what has ended is there: %+v, %v", list, err)
	}
}
