// Package control lets other processes of the same user talk to a live run:
// stop, stop after the codon, skip, ask how it stands.
//
// A run listens on a Unix socket of mode 0600. Each line of a client is one
// request, each line back its answer, both JSON objects:
//
//	{"version":1,"command":"stop"}
//	{"version":1,"ok":true}
//
// A client says one thing and hangs up; a connection that says nothing for
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
}

// Response is what a run answers.
type Response struct {
	Version int            `json:"version"`
	OK      bool           `json:"ok"`
	Error   string         `json:"error,omitempty"`
	Status  jsontext.Value `json:"status,omitempty"`
}

// ErrNotRunning says that nobody listens.
var ErrNotRunning = errors.New("no hank is running there")

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
	if !sameUser(conn) {
		return
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 4096), longestLine)
	for {
		if conn.SetDeadline(time.Now().Add(idle)) != nil || !lines.Scan() {
			return
		}
		answer := s.answer(lines.Bytes())
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

// answer is the pure half of serve.
func (s *Server) answer(line []byte) Response {
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		return Response{Error: "the request is not a JSON object with version and command"}
	}
	if r.Version != Version {
		return Response{Error: fmt.Sprintf("this hank speaks version %d of the control protocol, not %d", Version, r.Version)}
	}
	return s.handle(r)
}

// Call asks the run that listens at path. Nobody there: ErrNotRunning.
func Call(ctx context.Context, path string, r Request) (Response, error) {
	real, err := address(path)
	if err != nil {
		return Response{}, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", real)
	if err != nil {
		return Response{}, fmt.Errorf("%w (%v)", ErrNotRunning, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(idle)); err != nil {
		return Response{}, err
	}
	r.Version = Version
	text, err := json.Marshal(r)
	if err != nil {
		return Response{}, err
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return Response{}, fmt.Errorf("asking the run: %w", err)
	}
	line, err := bufio.NewReaderSize(conn, longestLine).ReadBytes('\n')
	if err != nil {
		return Response{}, fmt.Errorf("the run did not answer: %w", err)
	}
	var answer Response
	if err := json.Unmarshal(line, &answer); err != nil {
		return Response{}, fmt.Errorf("the run's answer cannot be read: %w", err)
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
