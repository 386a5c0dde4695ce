package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime"
)

// garbageView is the JSON form of hank gc.
type garbageView struct {
	Schema      int               `json:"schema"`
	Execution   string            `json:"execution"`
	Applied     bool              `json:"applied"`
	Bytes       int64             `json:"bytes"` // that went, or would go
	Items       []runtime.Garbage `json:"items"`
	Checkpoints int64             `json:"checkpointBytes"` // never touched
}

func gcCommand() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "list what an execution could do without, and delete it",
		Description: `Without --apply nothing is deleted. --apply deletes what is made anew when needed
(cost index, stat cache, temporary files) and what was set aside as damaged longer
ago than --older-than, and then makes the cost index anew. What else is listed
stays, and checkpoints are never deleted: packing and pruning them comes later.`,
		Flags: []cli.Flag{executionFlag,
			&cli.BoolFlag{Name: "apply", Usage: "delete"},
			&cli.StringFlag{Name: "older-than", Value: "30d", Usage: "`AGE` from which on damaged files go: 30d, 12h"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			age, err := parseAge(c.String("older-than"))
			if err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			out := garbageView{Schema: 1, Execution: v.Layout.Root, Items: runtime.ListGarbage(v, age, time.Now())}
			if c.Bool("apply") {
				if out.Items, err = runtime.Collect(c.Context, v.Layout.Root, age, time.Now()); err != nil {
					return err
				}
				out.Applied = true
			}
			if store, err := v.Store(); err == nil {
				out.Checkpoints, _ = store.Size() // shown only
				store.Close()
			}
			for _, g := range out.Items {
				if g.Remove {
					out.Bytes += g.Bytes
				}
			}
			if c.Bool("json") {
				return printJSON(out)
			}
			return printGarbage(out, c)
		},
	}
}

func printGarbage(out garbageView, c *cli.Context) error {
	t := term.NewTable(os.Stdout)
	for _, g := range out.Items {
		word := "stays"
		if g.Remove {
			word = "goes"
		}
		if out.Applied {
			word = "deleted"
		}
		t.Row(word, term.Bytes(g.Bytes), count(g.Files, "file"), shorten(g.Path), g.What)
	}
	t.Row("stays", term.Bytes(out.Checkpoints), "", "", "checkpoints: never deleted by this version")
	if err := t.Flush(); err != nil {
		return err
	}
	if out.Applied {
		fmt.Printf("%s freed\n", term.Bytes(out.Bytes))
		return nil
	}
	fmt.Printf("%s can go; nothing was deleted: hank gc --apply%s\n", term.Bytes(out.Bytes), c2e(c))
	return nil
}

// parseAge reads a time span, in days too.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, &runtime.UsageError{Why: fmt.Sprintf("an age is a number with a unit, such as 30d, 12h or 10m, not %q", text)}
	}
	return d, nil
}
