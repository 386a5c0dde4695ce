package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"hank/internal/browser"
)

// server is hank web.
type server struct {
	cmd           *exec.Cmd
	address       string // with the token in its fragment
	origin, token string
	client        *http.Client
}

// serve starts hank web.
func (b *bench) serve() (*server, error) {
	s := &server{cmd: b.command("web"), client: &http.Client{}}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fscan(out, &s.address); err != nil {
		return nil, errors.Join(fmt.Errorf("hank web has printed no address: %w", err), s.end())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	u, err := url.Parse(s.address)
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	about, err := url.ParseQuery(u.Fragment)
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	s.origin, s.token = "http://"+u.Host, about.Get("k")
	return s, nil
}

func (s *server) end() error {
	s.client.CloseIdleConnections()
	return errors.Join(s.cmd.Process.Signal(os.Interrupt), s.cmd.Wait())
}

// ask begins a request.
func (s *server) ask(ctx context.Context, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.origin+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := s.client.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(answer.Body)
		return nil, errors.Join(fmt.Errorf("GET %s: %s: %s", path, answer.Status, said), answer.Body.Close())
	}
	return answer, err
}

// get is a page, and how long its answer took.
func (s *server) get(path string) (text string, took time.Duration, err error) {
	begin := time.Now()
	answer, err := s.ask(context.Background(), path)
	if err != nil {
		return "", 0, err
	}
	body, err := io.ReadAll(answer.Body)
	return string(body), time.Since(begin), errors.Join(err, answer.Body.Close())
}

// find is the place of an execution.
func (s *server) find(name string) (string, error) {
	list, _, err := s.get("/f/")
	if err != nil {
		return "", err
	}
	at := regexp.MustCompile(`href="(/x/[0-9a-f]+)">` + regexp.QuoteMeta(name) + `<`).FindStringSubmatch(list)
	if at == nil {
		return "", fmt.Errorf("the list of executions has no %q", name)
	}
	return at[1], nil
}

// follow reads the stream of a page, and the page again after each change, as the page does,
// until the context ends.
func (s *server) follow(ctx context.Context, place string) error {
	answer, err := s.ask(ctx, "/stream?on="+url.QueryEscape(place)+"&since=0&live=")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	in := bufio.NewScanner(answer.Body)
	for in.Scan() {
		if !strings.Contains(in.Text(), `"change":true`) {
			continue
		}
		page, err := s.ask(ctx, "/f"+place)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, page.Body); err != nil {
			return errors.Join(err, page.Body.Close())
		}
		_ = page.Body.Close()
		select { // as often as the page refreshes
		case <-ctx.Done():
			return nil
		case <-time.After(400 * time.Millisecond):
		}
	}
	return nil
}

// web measures hank web over a long journal.
func (b *bench) web() ([]figure, error) {
	if _, err := b.eventful(); err != nil {
		return nil, err
	}
	warm, err := b.serve() // which makes the index, where one is kept
	if err != nil {
		return nil, err
	}
	place, err := warm.find("journal")
	if err == nil {
		_, _, err = warm.get("/f" + place + "/events")
	}
	if err = errors.Join(err, warm.end()); err != nil {
		return nil, err
	}
	s, err := b.serve()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.cmd.Process.Kill() }()
	var figures []figure
	pages := []string{"", "/events", "/events?before=" + fmt.Sprint(b.Events/2), "/money", "/checkpoints", "/codon?id=first", "/codon?id=second"}
	for _, p := range pages {
		_, first, err := s.get("/f" + place + p)
		if err != nil {
			return nil, err
		}
		var times []time.Duration
		for range 7 {
			_, took, err := s.get("/f" + place + p)
			if err != nil {
				return nil, err
			}
			times = append(times, took)
		}
		figures = append(figures, figure{What: fmt.Sprintf("the page %s of %d events, median", strings.TrimPrefix(p+" ", "/"), b.Events), Value: ms(quantile(times, .5)), Unit: milliseconds, Target: 200, Note: fmt.Sprintf("first %.0f ms", ms(first))})
	}
	figures[0].What = fmt.Sprintf("the page of a run of %d events, median", b.Events)
	painted, err := s.paint(place + "/events")
	if err == nil {
		figures = append(figures, figure{What: "the page of events in Chromium, from the address to what it shows", Value: ms(painted), Unit: milliseconds, Target: 200})
	} else if !errors.Is(err, browser.ErrMissing) && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	} else {
		b.say("the page was not seen in Chromium: %v", err)
	}
	b.say("%d visits of pages, and %d streams", b.Visits, b.Streams)
	if err := s.day(place, pages, b.Visits, b.Streams); err != nil {
		return nil, err
	}
	now, err := status(s.cmd.Process.Pid, "VmRSS")
	if err != nil {
		return nil, err
	}
	peak, err := status(s.cmd.Process.Pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	return append(figures, figure{What: fmt.Sprintf("memory of hank web, resident, after %d pages and %d streams", b.Visits, b.Streams), Value: now / megabyte, Unit: "MB", Target: 64, Note: fmt.Sprintf("peak %.0f MB", peak/megabyte)}), s.end()
}

// day visits pages, and opens and closes streams, as viewers do in a day.
func (s *server) day(place string, pages []string, visits, streams int) error {
	for i := range visits {
		if _, _, err := s.get("/f" + place + pages[i%len(pages)]); err != nil {
			return err
		}
		if streams > 0 && i%max(1, visits/streams) == 0 {
			ctx, cancel := context.WithCancel(context.Background())
			answer, err := s.ask(ctx, "/stream?on="+url.QueryEscape(place)+"&since=0&live=")
			if err != nil {
				cancel()
				return err
			}
			_, err = answer.Body.Read(make([]byte, 1))
			cancel()
			_ = answer.Body.Close()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// paint is how long a browser that runs takes from the address to the page.
func (s *server) paint(path string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tab, end, err := browser.Open(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer end()
	if err := chromedp.Do(tab, chromedp.Navigate(s.address), chromedp.WaitVisible(chromedp.CSS(".card"))); err != nil {
		return 0, err
	}
	var times []time.Duration
	for range 3 {
		begin := time.Now()
		if err := chromedp.Do(tab, chromedp.Navigate(s.origin+path), chromedp.WaitVisible(chromedp.CSS(".head"))); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	return quantile(times, .5), nil
}
