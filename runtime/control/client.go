package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// client is a connection to a run, for one goroutine. After an error it is of no
// more use.
type client struct {
	conn    net.Conn
	lines   *bufio.Reader
	version int    // what the run knows, as far as is known
	id      uint64 // of the last request
}

// dial connects to the run that listens at path. Nobody there: ErrNotRunning.
func dial(ctx context.Context, path string) (*client, error) {
	real, err := address(path)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Deadline: patience(ctx)}
	conn, err := d.DialContext(ctx, "unix", real)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() { // too many wait already
		return nil, fmt.Errorf("%w (%v)", ErrNoAnswer, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", ErrNotRunning, err)
	}
	return &client{conn: conn, lines: bufio.NewReader(conn), version: newestVersion}, nil
}

// patience is how long a run may take to answer: idle seconds, or less if the
// context ends before.
func patience(ctx context.Context) time.Time {
	until := time.Now().Add(idle)
	if end, limited := ctx.Deadline(); limited && end.Before(until) {
		return end
	}
	return until
}

// close hangs up.
func (c *client) close() error { return c.conn.Close() }

// Call asks the run that listens at path, and waits for its answer until the context
// ends, but not longer than idle seconds. No answer: ErrNoAnswer or ErrNotKnown; the
// latter only if r is to be confirmed, or cannot be.
func Call(ctx context.Context, path string, r Request) (Response, error) {
	c, err := dial(ctx, path)
	if err != nil {
		return Response{}, err
	}
	defer c.close()
	return c.call(ctx, r)
}

// call is Call on a connection that is made.
func (c *client) call(ctx context.Context, r Request) (Response, error) {
	if err := c.conn.SetDeadline(patience(ctx)); err != nil {
		return Response{}, err
	}
	answer, err := c.negotiate(r)
	switch {
	case err != nil && r.Confirm:
		return Response{}, fmt.Errorf("%w (%v)", ErrNoAnswer, err)
	case err != nil:
		return Response{}, fmt.Errorf("%w (%v)", ErrNotKnown, err)
	case !answer.Confirm: // a run that carries out at once, or that refuses
		return answer, nil
	}
	if answer, err = c.exchange(Request{Command: confirmation}); err != nil {
		return Response{}, fmt.Errorf("%w (%v)", ErrNotKnown, err)
	}
	return answer, nil
}

// negotiate sends a request in the newest version that the run knows. A run that
// does not know a version has not carried out what came in it. What has arguments is not sent in
// version 1, in which they would be passed over.
func (c *client) negotiate(r Request) (Response, error) {
	c.id++
	answer, err := c.exchange(r)
	if err != nil || answer.OK || answer.Version != 1 || c.version == 1 {
		return answer, err
	}
	if r.Arguments != nil {
		return Response{Version: 1, Error: errNoArguments}, nil
	}
	c.version = 1
	return c.exchange(r)
}

// exchange sends a request under the current id and reads the answer.
func (c *client) exchange(r Request) (Response, error) {
	var answer Response
	if r.Version = c.version; r.Version > 1 {
		r.ID = c.id
	}
	text, err := line(r)
	if err != nil {
		return answer, err
	}
	if _, err := c.conn.Write(text); err != nil {
		return answer, err
	}
	if err := c.read(&answer); err != nil {
		return answer, err
	}
	if answer.ID != r.ID && answer.Version == r.Version {
		if answer.Error != "" { // it could not read the request
			return Response{}, errors.New(answer.Error)
		}
		return Response{}, fmt.Errorf("it answers request %d instead of %d", answer.ID, r.ID)
	}
	return answer, nil
}

// read reads the next line of the run.
func (c *client) read(v any) error {
	text, err := c.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("its answer cannot be read: %w", err)
	}
	return nil
}

// Follow subscribes to the run that listens at path, and calls fn for each update until the run
// is over; then it returns nil. It ends before with the error of ctx or of fn, with errOldVersion,
// or with what ended the connection. Nobody there: ErrNotRunning. hank's own commands read the
// journal instead.
func Follow(ctx context.Context, path string, s Subscription, fn func(Update) error) error {
	c, err := dial(ctx, path)
	if err != nil {
		return err
	}
	defer c.close()
	return c.follow(ctx, s, fn)
}

// follow is Follow on a connection, which is of no more use then.
func (c *client) follow(ctx context.Context, s Subscription, fn func(Update) error) error {
	arguments, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := c.conn.SetDeadline(patience(ctx)); err != nil {
		return err
	}
	c.id++
	answer, err := c.exchange(Request{Command: subscription, Arguments: arguments})
	switch {
	case err != nil:
		return err
	case !answer.OK && answer.Version == 1:
		return errOldVersion
	case !answer.OK:
		return fmt.Errorf("the run refuses: %s", answer.Error)
	}
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetReadDeadline(time.Now()) })()
	for {
		var u Update
		switch err := c.read(&u); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case u.End:
			return nil
		}
		if err := fn(u); err != nil {
			return err
		}
	}
}

// address finds the socket that path is or names.
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
