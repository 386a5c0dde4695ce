// Package control lets other processes of the same user talk to a live run:
// stop, stop after the codon, skip, ask how it stands.
//
// A run listens on a Unix socket of mode 0600. Each line of a client is one
// request, each line back its answer, both JSON objects:
//
//	{"version":1,"command":"stop"}
//	{"version":1,"ok":true}
//
// A request with "confirm":true is carried out only once its client has said so
// again: the run answers {"version":1,"ok":true,"confirm":true}, the client says
// {"version":1,"command":"confirm"}, and the run answers as above. So what was
// asked of a run that does not answer, because it is stopped or hangs, never
// comes to pass after its client has gone.
//
// A client asks one thing and hangs up; a connection that says nothing for
// idle seconds is closed. The address of a Unix socket has at most 104 bytes
// on some systems: where the execution's path is longer, the socket stands in
// a short private folder, and a file of the wanted name says where.
package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version of the protocol.
const Version = 1

// Bounds of a server.
const (
	longestLine    = 64 << 10
	maxConnections = 16
	idle           = 10 * time.Second
	longestAddress = 100 // bytes; sun_path has 104 on macOS and 108 on Linux
)

// Request is what a client says.
type Request struct {
	Version int    `json:"version"`
	Command string `json:"command"`
	Peer    int    `json:"-"`                // who says it; 0 is a process outside of this PID namespace, -1 unknown
	Confirm bool   `json:"confirm,omitzero"` // to be carried out once the client has confirmed it
}

// confirmation is the command that confirms the request before it.
const confirmation = "confirm"

// Response is what a run answers.
type Response struct {
	Version int            `json:"version"`
	OK      bool           `json:"ok"`
	Error   string         `json:"error,omitempty"`
	Denied  bool           `json:"denied,omitzero"` // the client may not ask for it
	Status  jsontext.Value `json:"status,omitempty"`
	Confirm bool           `json:"confirm,omitzero"` // the request waits to be confirmed
}

// ErrNotRunning says that nobody listens.
var ErrNotRunning = errors.New("no hank is running there")

// The errors of a run that does not answer.
var (
	// ErrNoAnswer: it has not taken the request, and never will.
	ErrNoAnswer = errors.New("the run does not answer; the request is taken back")
	// ErrNotKnown: it has been told to carry the request out, and has not said
	// that it did.
	ErrNotKnown = errors.New("the run has taken the request and does not answer any more; it may still carry it out")
)

// Server answers the clients of one run.
type Server struct {
	listener net.Listener
	path     string // what clients look for
	real     string // where the socket is
	handle   func(Request) Response
	slots    chan struct{}
	wait     sync.WaitGroup
}

// Listen begins to answer at path. What is left there of a run that died is
// replaced: only the holder of the execution's lock may call Listen. handle is
// called by several goroutines.
func Listen(path string, handle func(Request) Response) (*Server, error) {
	s := &Server{path: path, real: path, handle: handle, slots: make(chan struct{}, maxConnections)}
	if len(path) > longestAddress {
		dir, err := os.MkdirTemp("", "hank-")
		if err != nil {
			return nil, fmt.Errorf("making a folder for the control socket: %w", err)
		}
		s.real = filepath.Join(dir, "s")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replacing the control socket of a dead run: %w", err)
	}
	var err error
	if s.listener, err = listen(s.real); err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	if s.real != path {
		if err := os.WriteFile(path, []byte(s.real+"\n"), 0o600); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.wait.Add(1)
	go s.accept()
	return s, nil
}

// Close stops listening, lets answers under way be sent, and removes the
// socket.
func (s *Server) Close() error {
	err := s.listener.Close() // removes the socket itself
	s.wait.Wait()
	if s.real != s.path {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(s.real)))
	}
	if rerr := os.Remove(s.path); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

func (s *Server) accept() {
	defer s.wait.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors: try again, slowly
			continue
		}
		select {
		case s.slots <- struct{}{}:
			s.wait.Add(1)
			go s.serve(conn)
		default:
			conn.Close()
		}
	}
}

func (s *Server) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		<-s.slots
		s.wait.Done()
	}()
	uid, pid := peerOf(conn)
	if !mayTalk(uid) {
		return
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 4096), longestLine)
	var pending *Request // waits for its confirmation
	for {
		if conn.SetDeadline(time.Now().Add(idle)) != nil || !lines.Scan() {
			return
		}
		var answer Response
		answer, pending = s.answer(lines.Bytes(), pending, pid)
		answer.Version = Version
		text, err := json.Marshal(answer)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(text, '\n')); err != nil {
			return
		}
	}
}

// answer is the pure half of serve. pending is the request before it that waits
// for its confirmation; it is forgotten if anything else comes.
func (s *Server) answer(line []byte, pending *Request, peer int) (Response, *Request) {
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		return Response{Error: "the request is not a JSON object with version and command"}, nil
	}
	r.Peer = peer
	switch {
	case r.Version != Version:
		return Response{Error: fmt.Sprintf("this hank speaks version %d of the control protocol, not %d", Version, r.Version)}, nil
	case r.Command == confirmation && pending != nil:
		return s.handle(*pending), nil
	case r.Command == confirmation:
		return Response{Error: "there is nothing to confirm"}, nil
	case r.Confirm:
		return Response{OK: true, Confirm: true}, &r
	}
	return s.handle(r), nil
}

// Call asks the run that listens at path, and waits for its answer until the
// context ends, but not longer than idle seconds. Nobody there: ErrNotRunning. No
// answer: ErrNoAnswer or ErrNotKnown; the latter only if r is to be confirmed, or
// cannot be.
func Call(ctx context.Context, path string, r Request) (Response, error) {
	real, err := address(path)
	if err != nil {
		return Response{}, err
	}
	until := time.Now().Add(idle)
	if end, limited := ctx.Deadline(); limited && end.Before(until) {
		until = end
	}
	d := net.Dialer{Deadline: until}
	conn, err := d.DialContext(ctx, "unix", real)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() { // too many wait already
		return Response{}, fmt.Errorf("%w (%v)", ErrNoAnswer, err)
	}
	if err != nil {
		return Response{}, fmt.Errorf("%w (%v)", ErrNotRunning, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(until); err != nil {
		return Response{}, err
	}
	lines := bufio.NewReaderSize(conn, longestLine)
	r.Version = Version
	answer, err := exchange(conn, lines, r)
	switch {
	case err != nil && r.Confirm:
		return Response{}, fmt.Errorf("%w (%v)", ErrNoAnswer, err)
	case err != nil:
		return Response{}, fmt.Errorf("%w (%v)", ErrNotKnown, err)
	case !answer.Confirm: // a run that carries out at once, or that refuses
		return answer, nil
	}
	if answer, err = exchange(conn, lines, Request{Version: Version, Command: confirmation}); err != nil {
		return Response{}, fmt.Errorf("%w (%v)", ErrNotKnown, err)
	}
	return answer, nil
}

// exchange says one thing and reads the answer.
func exchange(conn net.Conn, lines *bufio.Reader, r Request) (Response, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return Response{}, err
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return Response{}, err
	}
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return Response{}, err
	}
	var answer Response
	if err := json.Unmarshal(line, &answer); err != nil {
		return Response{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	return answer, nil
}

// address finds the socket that path is or tells of.
func address(path string) (string, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNotRunning
	}
	if err != nil {
		return "", err
	}
	if fi.Mode()&fs.ModeSocket != 0 {
		return path, nil
	}
	if !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return "", fmt.Errorf("%s is not a control socket", path)
	}
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}
