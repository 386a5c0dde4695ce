package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"hank/internal/browser"
)

// camera takes pictures in a tab of a browser.
type camera struct{ tab context.Context }

// newCamera starts the browser. The function that it returns ends it.
func newCamera() (*camera, func(), error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	tab, end, err := browser.Open(ctx, nil)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return &camera{tab}, func() { end(); cancel() }, nil
}

// save takes a picture of what the tab shows; whole: of the whole page.
func (c *camera) save(path string, whole bool) error {
	shoot := chromedp.CaptureScreenshot()
	if whole {
		shoot = chromedp.FullScreenshot(100)
	}
	shot, err := chromedp.Run(c.tab, shoot)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Println(path)
	return os.WriteFile(path, smaller(shot), 0o666)
}

// exactColours is how many of the most frequent colours of a picture stay as they are.
const exactColours = 32

// smaller is a picture with a palette: its most frequent colours, and the others, which are
// those of the edges of letters, rounded as far as it takes. Where no palette has them, it is
// the picture itself.
func smaller(text []byte) []byte {
	full, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return text
	}
	count := map[color.Color]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			count[full.At(x, y)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	for _, step := range []uint32{8, 16, 32} {
		palette, at := color.Palette{}, map[color.Color]uint8{}
		known := map[color.Color]uint8{}
		for i, c := range frequent {
			to := c
			if i >= exactColours {
				r, g, b, _ := c.RGBA()
				round := func(v uint32) uint8 { return uint8(min(255, (v>>8+step/2)/step*step)) }
				to = color.RGBA{round(r), round(g), round(b), 255}
			}
			n, there := known[to]
			if !there {
				n = uint8(len(palette))
				known[to], palette = n, append(palette, to)
			}
			at[c] = n
		}
		if len(palette) > 256 {
			continue
		}
		out := image.NewPaletted(image.Rect(0, 0, full.Bounds().Dx(), full.Bounds().Dy()), palette)
		for y := range full.Bounds().Dy() {
			for x := range full.Bounds().Dx() {
				out.SetColorIndex(x, y, at[full.At(x, y)])
			}
		}
		var small bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, out); err == nil && small.Len() < len(text) {
			return small.Bytes()
		}
	}
	return text
}

// served is hank web, with the token in its tab.
type served struct {
	*camera
	origin string
	list   string // the list of executions
	hides  string // a script that hides a part of the page before the picture; empty: nothing is hidden
}

// web starts hank web, and opens its address.
func (r *rig) web(c *camera) (*served, func(), error) {
	cmd := r.command("", "web", "--act")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	end := func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
	var address string
	if _, err = fmt.Fscan(out, &address); err == nil {
		err = chromedp.Do(c.tab, chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS(".card")))
	}
	s := &served{camera: c}
	if err == nil {
		s.origin, _, _ = strings.Cut(address, "/#")
		s.list, err = chromedp.Run(c.tab, chromedp.OuterHTML(chromedp.CSS("#page")))
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return s, end, nil
}

// place is where the pages of an execution are, by the name of its hank.
func (s *served) place(name string) (string, error) {
	at := regexp.MustCompile(`href="(/x/[0-9a-f]+)">` + regexp.QuoteMeta(name) + `<`).FindStringSubmatch(s.list)
	if at == nil {
		return "", errors.New("the list has no execution " + name)
	}
	return at[1], nil
}

// form is how a page is looked at.
type form struct {
	name          string
	width, height int64
	dark          bool
}

var forms = []form{{"light", 1200, 900, false}, {"dark", 1200, 900, true}, {"phone-light", 390, 844, false}, {"phone-dark", 390, 844, true}}

// take takes a picture of a page.
func (s *served) take(path string, f form, to string, whole bool) error {
	if err := browser.Look(s.tab, f.width, f.height, f.dark); err != nil {
		return err
	}
	if err := chromedp.Do(s.tab, chromedp.Navigate(s.origin+path), chromedp.WaitVisible(chromedp.CSS(".head"))); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if s.hides != "" {
		if _, err := chromedp.Run(s.tab, chromedp.Evaluate[string](s.hides)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return s.save(to, whole)
}

// everyPage takes pictures of all pages, in all forms.
func (s *served) everyPage(out string) error {
	weather, err := s.place("Weather service")
	mirror, err1 := s.place("Mirror the archive")
	tests, err2 := s.place("Port the tests")
	guide, err3 := s.place("Translate the guide")
	if err := errors.Join(err, err1, err2, err3); err != nil {
		return err
	}
	pages := []struct{ name, path string }{{"executions", "/"}, {"needs", "/needs"}, {"live", mirror}, {"live-codon", mirror + "/codon?id=upload"}, {"limit", guide}, {"failed", tests + "/codon?id=port"},
		{"run", weather}, {"gate", weather + "/gate"}, {"codon", weather + "/codon?id=feed"}, {"loop", weather + "/codon?id=review"}, {"checkpoints", weather + "/checkpoints"}, {"diff", weather + "/diff?from=initial&to=feed"},
		{"rollback", weather + "/rollback?to=feed"}, {"money", weather + "/money"}, {"events", weather + "/events"}}
	for _, p := range pages {
		for _, f := range forms {
			if err := s.take(p.path, f, filepath.Join(out, p.name+"-"+f.name+".png"), true); err != nil {
				return err
			}
		}
	}
	return nil
}
