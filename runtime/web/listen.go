package web

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/flock"
	"hank/internal/registry"
	"hank/runtime/exitcode"
)

// listen listens on this machine alone.
func listen(at string) (net.Listener, error) {
	if path, unix := strings.CutPrefix(at, "unix:"); unix {
		return listenUnix(path)
	}
	host, _, err := net.SplitHostPort(at)
	ip := net.ParseIP(host)
	if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("--listen %s: hank web listens on this machine alone: 127.0.0.1:PORT, or unix:PATH, which ssh -L can forward", at)}
	}
	return net.Listen("tcp", at)
}

// listenUnix listens on a socket of the user's own. One that nobody listens on is replaced.
func listenUnix(path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("--listen unix:%s: the path must be absolute", path)}
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode().Type() != fs.ModeSocket {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("--listen unix:%s: there is something else", path)}
		}
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("--listen unix:%s: somebody listens there already", path)}
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	// In a directory of its own nobody else can connect before the mode is set.
	private, err := os.MkdirTemp(filepath.Dir(path), ".hank-web-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(private, "s"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(filepath.Join(private, "s"), 0o600), os.Rename(filepath.Join(private, "s"), path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return unixListener{l, path}, nil
}

// unixListener removes its socket when it closes.
type unixListener struct {
	*net.UnixListener
	path string
}

// Addr implements net.Listener.
func (l unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close implements net.Listener.
func (l unixListener) Close() error { return errors.Join(l.UnixListener.Close(), os.Remove(l.path)) }

// Address is where a server is.
type Address struct {
	Schema  int       `json:"schema"`
	Network string    `json:"network"` // tcp or unix
	Listen  string    `json:"listen"`  // host and port, or a path
	PID     int       `json:"pid"`
	Began   time.Time `json:"began"`
	Look    string    `json:"look"`          // the token to look
	Act     string    `json:"act,omitempty"` // the token to act; empty: nobody may
}

// URL is what is opened in a browser, with the token to act if there is one. The token is in
// the fragment, which a browser sends nowhere. For a forwarded socket it has the port of the
// other end.
func (a Address) URL(port string) string {
	host := a.Listen
	if a.Network == "unix" {
		host = "localhost:" + port
	}
	token := a.Look
	if a.Act != "" {
		token = a.Act
	}
	return "http://" + host + "/#k=" + token
}

// LookURL is the same for who may only look.
func (a Address) LookURL(port string) string {
	a.Act = ""
	return a.URL(port)
}

// addressFile is a file with an address, locked while its server lives.
type addressFile struct {
	Address
	path string
	lock *os.File
}

func (f *addressFile) remove() error { return errors.Join(os.Remove(f.path), flock.Close(f.lock)) }

// Dir is where addresses and the audit are kept: beside what is remembered of this machine's
// executions, and in none of them.
func Dir() (string, error) {
	dir, err := registry.Dir()
	return filepath.Join(filepath.Dir(dir), "web"), err
}

// writeAddress writes down where a server is, for its user alone.
func writeAddress(dir string, acts bool, at net.Addr) (*addressFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f := &addressFile{Address: Address{Schema: 1, Network: at.Network(), Listen: at.String(), PID: os.Getpid(), Began: time.Now().UTC().Truncate(time.Second), Look: token()}}
	if acts {
		f.Act = token()
	}
	file, err := os.CreateTemp(dir, "server-*"+addressEnd) // of mode 0600
	if err != nil {
		return nil, err
	}
	f.path, f.lock = file.Name(), file
	text, err := json.Marshal(f.Address)
	if err == nil {
		err = flock.Exclusive(file)
	}
	if err == nil {
		_, err = file.Write(text)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.path), file.Close())
	}
	return f, nil
}

const addressEnd = ".json"

// Addresses are those of the servers that live, the newest first. Files of others are removed.
func Addresses(dir string) (list []Address, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "server-*"+addressEnd))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		if flock.Exclusive(f) == nil {
			_ = os.Remove(name) // best effort: it is found again
			_ = flock.Close(f)
			continue
		}
		var a Address
		text, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(text, &a) == nil && a.Look != "" {
			list = append(list, a)
		}
		_ = f.Close()
	}
	slices.SortFunc(list, func(a, b Address) int { return b.Began.Compare(a.Began) })
	return list, nil
}

// token is 256 random bits.
func token() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}
