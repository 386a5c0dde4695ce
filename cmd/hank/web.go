package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"hank/internal/secret"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery/lock"
	"hank/runtime/exitcode"
	"hank/runtime/web"
	"hank/runtime/web/page"
)

func webCommand() *cli.Command {
	return &cli.Command{
		Name: "web", Usage: "serve a page that shows every execution, in a browser on this machine",
		Description: `Prints an address with a secret token, and serves until Ctrl-C. Nobody else on the
network reaches it. What runs is not changed or slowed down by who looks.

Whoever has the address may look. With --act they may also answer gates, skip, stop and
roll back; a second address is printed for those who may only look. Agents may never
act. To look from another machine or a phone, listen on a Unix socket and forward it
with ssh; see docs/web.md.

Secrets are masked, unless --unmasked is given.

Examples: hank web
          hank web --act --listen unix:/run/user/1000/hank-web.sock
          hank web --url

Exit code 0: ended by Ctrl-C, or printed; 2: no such address, or no hank web is running;
4: an agent has given the command.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "act", Usage: "also answer gates, skip, stop and roll back there"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "listen on `ADDRESS`: 127.0.0.1:PORT, or unix:PATH"},
			&cli.StringSliceFlag{Name: "allow-host", Usage: "also answer to `HOST:PORT`, such as the name of a proxy"},
			&cli.BoolFlag{Name: "url", Usage: "print the addresses of those that are running, and serve nothing"},
			&cli.BoolFlag{Name: "unmasked", Usage: "show secrets as they are"},
		},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			dir, err := web.Dir()
			if err != nil {
				return err
			}
			if c.Bool("url") {
				return sayAddresses(dir)
			}
			if err := lock.MayAct("/"); err != nil {
				return err
			}
			o := web.Options{Pages: pagesOf(c), Listen: listenAt(c), Hosts: c.StringSlice("allow-host"), Acts: c.Bool("act"), Dir: dir}
			s, err := web.Start(o)
			if err != nil {
				return err
			}
			// Nobody who looks at a page knows where the command was given: paths are shown whole.
			if err := os.Chdir(dir); err != nil {
				return err
			}
			sayAddress(s.Address())
			remark("hank web runs until Ctrl-C\n")
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return s.Serve(ctx)
		},
	}
}

// listenAt is what --listen says; a path becomes absolute.
func listenAt(c *cli.Context) string {
	path, unix := strings.CutPrefix(c.String("listen"), "unix:")
	if abs, err := filepath.Abs(path); unix && path != "" && err == nil {
		return "unix:" + abs
	}
	return c.String("listen")
}

// pagesOf are the pages as this call shows them.
func pagesOf(c *cli.Context) *page.Pages {
	mask := func(text string) string { return text }
	if !c.Bool("unmasked") {
		var secrets secret.Values
		secrets.Add(os.Environ())
		mask = secrets.Text
	}
	return page.New(settingsHere(c), mask)
}

const portOfOther = "8080" // at the other end of a forwarded socket, in what is printed

// sayAddress prints how a server is reached.
func sayAddress(a web.Address) {
	if a.Network == "unix" {
		say("on the machine with the browser: ssh -N -L %s:%s HOST\n", portOfOther, shell.Quote(a.Listen))
	}
	if a.Act != "" {
		say("%s  to look and act\n", a.URL(portOfOther))
	}
	say("%s  to look\n", a.LookURL(portOfOther))
}

// sayAddresses prints those that are running.
func sayAddresses(dir string) error {
	list, err := web.Addresses(dir)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return &exitcode.UsageError{Why: "no hank web is running; to start one: hank web"}
	}
	for _, a := range list {
		sayAddress(a)
	}
	return nil
}

func exportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write the pages of an execution as one file to send to somebody", ArgsUsage: "html FILE",
		Description: `Writes the pages of hank web of one execution as one HTML file, without a script: the
run, each codon with the end of its newest transcript and what it has changed,
checkpoints, costs and events. Secrets are masked, unless --unmasked is given.

Example: hank export html run.html -e DIR

Exit code 0: written; 2: FILE exists already.`,
		Flags: []cli.Flag{executionFlag,
			&cli.BoolFlag{Name: "overwrite", Usage: "replace FILE"},
			&cli.BoolFlag{Name: "unmasked", Usage: "show secrets as they are"}},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 2, 2); err != nil {
				return err
			}
			if c.Args().First() != "html" {
				return &exitcode.UsageError{Why: fmt.Sprintf("hank export writes html, not %q", c.Args().First())}
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			name, mode := c.Args().Get(1), fs.FileMode(0o600)
			there, missing := os.Lstat(name)
			if missing == nil && !c.Bool("overwrite") {
				return &exitcode.UsageError{Why: fmt.Sprintf("%s exists already; to replace it: --overwrite", name)}
			}
			if missing == nil && there.Mode().IsRegular() {
				mode = there.Mode().Perm()
			}
			var text bytes.Buffer
			if err := pagesOf(c).Export(c.Context, &text, root); err != nil {
				return err
			}
			if missing == nil && !there.Mode().IsRegular() { // a link or a device stays one
				err = os.WriteFile(name, text.Bytes(), mode)
			} else {
				err = vfs.ReplaceFile(vfs.OS, name, text.Bytes(), mode, vfs.Durable)
			}
			if err != nil {
				return err
			}
			return say("%s written, %s\n", quotePath(name), term.Bytes(int64(text.Len())))
		},
	}
}
