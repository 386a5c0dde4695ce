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
)

// Service is the run that a server answers for. Its functions are called by several
// goroutines.
type Service struct {
	// Handle carries out a request.
	Handle func(Request) Response
	// Follow sends the updates of a subscription until the run is over, and returns
	// nil then; the context, or an error of send, ends it before. nil: there are no
	// subscriptions.
	Follow func(ctx context.Context, s Subscription, send func(Update) error) error
}

// Server answers the clients of one run.
type Server struct {
	listener net.Listener
	path     string // what clients look for
	real     string // where the socket is
	service  Service
	wait     sync.WaitGroup

	idle, grace time.Duration // see there

	following context.Context // of all subscriptions
	end       context.CancelFunc

	mu          sync.Mutex
	connections map[*connection]bool
	followers   int
	closing     time.Time // when what is still to be sent is given up; zero: not closing
}

// Listen starts to answer at path. What is left there of a run that died is
// replaced: only the holder of the execution's lock may call Listen.
func Listen(path string, service Service) (*Server, error) {
	s := newServer(service)
	s.path, s.real = path, path
	removeDistant(path)
	if len(path) > longestAddress {
		dir, err := os.MkdirTemp("", "hank-")
		if err != nil {
			return nil, fmt.Errorf("making a directory for the control socket: %w", err)
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

// removeDistant removes the socket of a dead run that path names, and its directory, which
// only Listen makes. What is not as Listen makes it stays.
func removeDistant(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return // a socket, or nothing
	}
	real := strings.TrimSuffix(string(text), "\n")
	dir := filepath.Dir(real)
	info, err := os.Lstat(real)
	if filepath.Base(real) != "s" || !strings.HasPrefix(filepath.Base(dir), "hank-") || err == nil && info.Mode().Type() != fs.ModeSocket {
		return
	}
	_ = os.Remove(real)
	_ = os.Remove(dir) // if it is empty
}

func newServer(service Service) *Server {
	s := &Server{service: service, idle: idle, grace: grace, connections: map[*connection]bool{}}
	s.following, s.end = context.WithCancel(context.Background())
	return s
}

// Close stops listening and removes the socket. What is being answered, and what
// subscriptions have left to send, gets grace seconds; no client holds it up for
// longer.
func (s *Server) Close() error {
	err := s.listener.Close() // removes the socket itself
	s.mu.Lock()
	s.closing = time.Now().Add(s.grace)
	for c := range s.connections {
		c.hurry()
	}
	s.mu.Unlock()
	late := time.AfterFunc(s.grace, s.end)
	s.wait.Wait()
	late.Stop()
	s.end()
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
		c := &connection{server: s, conn: conn}
		if !s.admit(c) {
			conn.Close()
			continue
		}
		s.wait.Go(func() {
			defer s.dismiss(c)
			c.serve()
		})
	}
}

// admit takes a connection in. Where there is no room, the one goes of which nothing has
// come for the longest time, so that no client can keep others out by being there.
func (s *Server) admit(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing.IsZero() {
		return false
	}
	if len(s.connections) >= maxConnections {
		idlest := s.idlest()
		if idlest == nil {
			return false
		}
		idlest.conn.Close()
		delete(s.connections, idlest)
	}
	c.heard = time.Now()
	s.connections[c] = true
	return true
}

// idlest is the connection of which nothing has come for the longest time, without those
// that have a subscription or get an answer; nil: there is none. The caller holds the
// lock.
func (s *Server) idlest() (found *connection) {
	for c := range s.connections {
		if !c.follows && !c.busy && (found == nil || c.heard.Before(found.heard)) {
			found = c
		}
	}
	return found
}

func (s *Server) dismiss(c *connection) {
	c.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
}

// isClosing reports whether Close was called.
func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closing.IsZero()
}

// reserve takes one of the places for subscriptions.
func (s *Server) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followers >= maxSubscriptions {
		return false
	}
	s.followers++
	return true
}

func (s *Server) unreserve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers--
}

// connection is one client of a server.
type connection struct {
	server *Server
	conn   net.Conn
	peer   int // process id of the client

	pending *Request // waits for its confirmation

	writing  sync.Mutex
	follower sync.WaitGroup // the subscription

	// Guarded by the server's lock.
	follows bool
	busy    bool      // a request is being answered
	heard   time.Time // when the last one was answered
}

// serve answers requests until the client hangs up, is silent for too long, or the
// server closes.
func (c *connection) serve() {
	uid, pid := peerOf(c.conn)
	if !mayTalk(uid) {
		return
	}
	c.peer = pid
	following, hangUp := context.WithCancel(c.server.following)
	defer hangUp()
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(make([]byte, 0, 4096), longestLine)
	for c.awaitRequest() && lines.Scan() && c.begin() {
		answer, wants := c.answer(lines.Bytes())
		err := c.send(answer)
		if err == nil && wants != nil {
			c.follow(following, answer.ID, *wants)
		} else if wants != nil {
			c.server.unreserve()
		}
		if err != nil {
			break
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		_ = c.send(Response{Version: newestVersion, Error: fmt.Sprintf("a request has at most %d bytes", longestLine)})
	}
	if !c.server.isClosing() {
		hangUp() // the client has gone, or is of no use
	}
	c.follower.Wait()
}

// awaitRequest sets the time until which the client may be silent.
func (c *connection) awaitRequest() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.busy = false
	var until time.Time // a subscriber may be silent for ever
	if !c.follows {
		until = time.Now().Add(c.server.idle)
	}
	return c.server.closing.IsZero() && c.conn.SetReadDeadline(until) == nil
}

// begin begins an answer, unless the connection had to make room.
func (c *connection) begin() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.busy, c.heard = true, time.Now()
	return c.server.connections[c]
}

// hurry ends the reading, and the writing soon; the caller holds the server's lock.
func (c *connection) hurry() {
	_ = c.conn.SetReadDeadline(time.Now())
	_ = c.conn.SetWriteDeadline(c.server.closing)
}

// send writes a line. A client that does not take it in time is given up.
func (c *connection) send(v any) error {
	text, err := line(v)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.server.mu.Lock()
	until := time.Now().Add(c.server.idle)
	if closing := c.server.closing; !closing.IsZero() {
		until = closing
	}
	err = c.conn.SetWriteDeadline(until)
	c.server.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = c.conn.Write(text)
	return err
}

// follow sends the updates of a subscription from now on.
func (c *connection) follow(ctx context.Context, id uint64, s Subscription) {
	c.server.mu.Lock()
	c.follows = true
	c.server.mu.Unlock()
	c.follower.Go(func() {
		defer c.server.unreserve()
		err := c.server.service.Follow(ctx, s, func(u Update) error {
			u.Version, u.ID = newestVersion, id
			return c.send(u)
		})
		if err == nil {
			err = c.send(Update{Version: newestVersion, ID: id, End: true})
		}
		if err != nil { // a part of a line may have been written: nothing can follow it
			c.conn.Close()
		}
	})
}

// answer carries out a request, and returns the subscription that it asks for.
func (c *connection) answer(text []byte) (answer Response, wants *Subscription) {
	var r Request
	err := json.Unmarshal(text, &r)
	pending := c.pending
	c.pending = nil // forgotten, whatever comes
	defer func() {
		if answer.ID = r.ID; answer.Version == 0 {
			answer.Version = r.Version
		}
	}()
	r.Peer = c.peer
	switch {
	case err != nil:
		r.ID = 0
		return Response{Version: newestVersion, Error: "the request is not a JSON object with version and command"}, nil
	case r.Version == 1:
		r.ID, r.Arguments = 0, nil // unknown there
	case r.Version != newestVersion:
		return Response{Version: newestVersion, Error: fmt.Sprintf("this hank knows the versions 1 and %d of the control protocol, not %d", newestVersion, r.Version)}, nil
	case r.ID == 0:
		return Response{Error: "a request of version 2 has an id, a number from 1 on"}, nil
	case r.Arguments != nil && r.Arguments.Kind() != '{':
		return Response{Error: "arguments are an object"}, nil
	}
	switch {
	case r.Command == confirmation && pending != nil && pending.ID == r.ID && pending.Version == r.Version:
		return c.carryOut(*pending)
	case r.Command == confirmation:
		return Response{Error: "there is nothing to confirm"}, nil
	case r.Confirm:
		c.pending = &r
		return Response{OK: true, Confirm: true}, nil
	}
	return c.carryOut(r)
}

func (c *connection) carryOut(r Request) (Response, *Subscription) {
	if r.Command != subscription || r.Version == 1 || c.server.service.Follow == nil {
		return c.server.service.Handle(r), nil
	}
	var wants Subscription
	if r.Arguments != nil {
		if err := json.Unmarshal(r.Arguments, &wants, json.RejectUnknownMembers(true)); err != nil {
			return Response{Error: "the arguments of subscribe are events, from, early and status"}, nil
		}
	}
	switch {
	case !wants.Events && !wants.Status:
		return Response{Error: "a subscription is for events, for status, or for both"}, nil
	case c.follows:
		return Response{Error: "this connection has a subscription already"}, nil
	case !c.server.reserve():
		return Response{Error: fmt.Sprintf("%d others follow this run; more may not: read the journal", maxSubscriptions)}, nil
	}
	return Response{OK: true}, &wants
}
