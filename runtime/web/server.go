package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/secret"
	"hank/runtime/liveview"
	"hank/runtime/verdict"
	"hank/runtime/web/guard"
	"hank/runtime/web/page"
)

// patience is how long a client may take nothing of an answer before it is given up, atOnce how
// much of one is written at once, and inKernel how much the kernel keeps of it: there is room for
// more only when a third of that was read. Who reads 1 kB a second gets all.
const (
	patience = time.Minute
	atOnce   = 16 << 10
	inKernel = 32 << 10
)

// aliveEvery is how often a stream without news says that it is there. Who hears nothing for longer
// than twice that takes the connection for gone, within 15 seconds.
const aliveEvery = 5 * time.Second

// Start listens, and writes down where.
func Start(o Options) (*Server, error) {
	l, err := listen(o.Listen)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, listener: l, alive: aliveEvery, patience: patience, audit: audit{path: filepath.Join(o.Dir, auditName)}}
	if s.address, err = writeAddress(o.Dir, o.Acts, l.Addr()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.guard = &guard.Guard{Hosts: hostsOf(l.Addr(), o.Hosts), AnyPort: anyPort(l.Addr()), Look: s.address.Look, Act: s.address.Act,
		Public: public, Caller: s.mayAct, Refused: s.refused}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.http = &http.Server{Handler: s.guard.Wrap(s.routes()), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if b, ok := c.(interface{ SetWriteBuffer(int) error }); ok {
				_ = b.SetWriteBuffer(inKernel)
			}
			return context.WithValue(ctx, connection{}, c)
		}}
	return s, nil
}

// Serve answers requests until the context ends.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	select {
	case err := <-ended:
		return errors.Join(err, s.address.remove())
	case <-ctx.Done():
	}
	s.stop() // what streams ends
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.http.Shutdown(patient)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, s.address.remove())
}

// Address is where the server is.
func (s *Server) Address() Address { return s.address.Address }

// hostsOf are the Host headers of a listener.
func hostsOf(at net.Addr, more []string) []string {
	hosts := append([]string{}, more...)
	if tcp, ok := at.(*net.TCPAddr); ok {
		for _, name := range []string{"127.0.0.1", "localhost", "[::1]"} {
			hosts = append(hosts, fmt.Sprintf("%s:%d", name, tcp.Port))
		}
	}
	return hosts
}

// anyPort are the names that have any port: a forwarded socket has that of the other end.
func anyPort(at net.Addr) []string {
	if at.Network() == "unix" {
		return []string{"localhost", "127.0.0.1"}
	}
	return nil
}

// public reports whether a path is one of the page itself. All pages have the same shell, and
// fetch what they show.
func public(path string) bool {
	return !strings.HasPrefix(path, "/f/") && path != "/stream" && !strings.HasPrefix(path, "/a/")
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /f/", s.fragment)
	mux.HandleFunc("GET /stream", s.stream)
	mux.HandleFunc("POST /a/{id}/{act}", s.act)
	mux.HandleFunc("GET /", s.asset)
	return mux
}

// asset answers with a file of the page itself, or with its shell.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	content, kind, there := page.Asset(strings.TrimPrefix(r.URL.Path, "/"))
	if !there {
		content, kind, _ = page.Asset("shell.html")
	}
	w.Header().Set("Content-Type", kind)
	s.write(w, content)
}

// fragment answers with the content of a place.
func (s *Server) fragment(w http.ResponseWriter, r *http.Request) {
	path, begun := strings.TrimPrefix(r.URL.Path, "/f"), time.Now()
	text, err := s.o.Pages.Fragment(r.Context(), page.Place{Path: path, Query: r.URL.Query(), Acts: s.guard.MayAct(r)})
	if err != nil {
		fail(w, err)
		return
	}
	id, _ := page.Split(path)
	s.made.Store(id, making{begun, time.Since(begun)})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	s.write(w, text)
}

// write writes an answer part by part, so that a client which does not read any more keeps
// neither it nor the connection for long.
func (s *Server) write(w http.ResponseWriter, text []byte) {
	out := http.NewResponseController(w)
	for part := range slices.Chunk(text, atOnce) {
		if out.SetWriteDeadline(time.Now().Add(s.patience)) != nil {
			return
		}
		if _, err := w.Write(part); err != nil {
			return // who does not read has gone
		}
	}
}

// fail answers with an error, as a text.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, page.ErrNoPlace) {
		status = http.StatusNotFound
	}
	http.Error(w, secret.Text(verdict.Sentence(err)), status)
}

// news is a line of a stream.
type news struct {
	// Change: what is shown is not what there is.
	Change bool   `json:"change,omitzero"`
	Seq    uint64 `json:"seq,omitzero"`
	Alive  bool   `json:"alive,omitzero"` // nothing new
}

// listEvery is how often the list of executions is said to have changed: what it shows of
// those that run is never old.
const listEvery = 2 * time.Second

// lookEvery is how often an execution is looked at for a stream.
const lookEvery = 400 * time.Millisecond

// stream tells of each change of what a page is about, a line of JSON each, from event since
// on. It ends when the client goes or the server ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	var since uint64
	_, _ = fmt.Sscan(r.URL.Query().Get("since"), &since) // without, all is new
	id, _ := page.Split(r.URL.Query().Get("on"))
	out := http.NewResponseController(w)
	if err := errors.Join(out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{})); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	say := func(n news) bool {
		text, err := json.Marshal(n)
		if err != nil {
			return false
		}
		_ = out.SetWriteDeadline(time.Now().Add(s.patience))
		_, err = w.Write(append(text, '\n'))
		return err == nil && out.Flush() == nil
	}
	seen := watched{since: since, shown: r.URL.Query().Get("live")}
	every := lookEvery
	if id == "" {
		every = listEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	said := time.Now()
	if !say(news{Alive: true}) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if s.rests(id) && time.Since(said) < s.alive {
			continue
		}
		n, err := s.look(r.Context(), id, &seen)
		if err != nil {
			n = news{Change: true} // the page says what is wrong
			tick.Reset(5 * time.Second)
		}
		if !n.Change && time.Since(said) < s.alive {
			continue
		}
		if n.Alive = !n.Change; !say(n) {
			return
		}
		said = time.Now()
	}
}

// rests reports whether an execution was shown so recently that a stream tells of no change yet.
func (s *Server) rests(id string) bool {
	m, made := s.made.Load(id)
	return made && time.Since(m.(making).at) < liveview.Rest(m.(making).took)
}

// watched is what a stream has told of.
type watched struct {
	since uint64
	heard time.Time
	shown string // of the head of the page
	begun bool
}

// look reports what of an execution a stream has not told of yet.
func (s *Server) look(ctx context.Context, id string, w *watched) (news, error) {
	if id == "" {
		return news{Change: true}, nil
	}
	root, err := page.Find(id)
	if err != nil {
		return news{}, err
	}
	seq, heard, shown, err := s.o.Pages.Look(ctx, root)
	if err != nil {
		return news{}, err
	}
	n := news{Seq: seq, Change: seq != w.since || shown != w.shown || w.begun && !heard.Equal(w.heard)}
	*w = watched{seq, heard, shown, true}
	return n, nil
}
