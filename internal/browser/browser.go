// Package browser starts Chromium without a window, for tests and for the pictures of the
// documents.
//
// The program does not import it. It opens what its callers ask for and nothing of its own:
// the browser's own connections are switched off.
package browser

import (
	"context"
	"errors"
	"os/exec"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// ErrMissing says that there is no Chromium.
var ErrMissing = errors.New("chromium is missing; install it (Debian: chromium)")

// Path is the browser's program.
func Path() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

// Open starts the browser, with flags of its command line, and returns a tab of it. The
// function that it returns ends it.
func Open(parent context.Context, flags map[string]any) (context.Context, func(), error) {
	path, err := Path()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-background-networking", true))
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	ctx, cancel := chromedp.NewExecAllocator(parent, options...)
	tab, closes := chromedp.NewContext(ctx)
	if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); err != nil {
		closes()
		cancel()
		return nil, nil, err
	}
	return tab, func() { closes(); cancel() }, nil
}

// Look makes a tab so wide and high, in points, dark or light.
func Look(tab context.Context, width, height int64, dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	if err := chromedp.Do(tab, chromedp.EmulateViewport(width, height)); err != nil {
		return err
	}
	_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	return err
}
