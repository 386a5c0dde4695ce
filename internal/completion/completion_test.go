package completion

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestWhatCanFollowIsToldByTheUsage(t *testing.T) {
	t.Parallel()
	app := &cli.App{Commands: []*cli.Command{
		{Name: "go", ArgsUsage: "[TARGET|left|right] PATH…", Flags: []cli.Flag{
			&cli.StringFlag{Name: "execution", Aliases: []string{"e"}, Usage: "in `DIR`"},
			&cli.StringFlag{Name: "by", Usage: "by `WAY`: no matter"},
			&cli.StringFlag{Name: "plain", Usage: "a text"},
			&cli.BoolFlag{Name: "fast"},
		}},
		{Name: "hidden", Hidden: true},
	}}
	names := func(kind string, words []string) []string {
		switch kind {
		case "TARGET":
			return []string{"here", "there", "here", "two\nlines", "\x1b[2J", "", "in " + Value(words, "execution", "e")}
		case "WAY":
			return []string{"day"}
		}
		return nil
	}
	for words, want := range map[string]string{
		"":                   "go",
		"help":               "go",
		"nothing":            "",
		"go":                 "here there in  left right",
		"go here":            "",
		"go --by":            "day",
		"go --by day":        "here there in  left right",
		"go --by=":           "--by=day",
		"go --by=day":        "--by=day",
		"go --by=day --fast": "--help --execution --by --plain --fast here there in  left right",
		"go here --f":        "--help --execution --by --plain --fast",
		"go --plain":         "",
		"go -e x":            "here there in x left right",
		"go --execution=x":   "",
		"go -e x --":         "here there in x left right",
		"go -- --by":         "",
	} {
		got := strings.Join(Following(app, strings.Fields(words), names), " ")
		if got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

func TestAValueIsReadAsTheShellWould(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	for value, want := range map[string]string{"x": "x", "'a b'": "a b", `"a b"`: "a b", `a\ b`: "a b", "~/x": "/home/ann/x", "'~/x'": "~/x", "'": "'"} {
		for _, words := range [][]string{{"go", "-e", value}, {"go", "--execution=" + value}, {"-e", "other", "--execution", value}} {
			if got := Value(words, "execution", "e"); got != want {
				t.Errorf("%q: %q, want %q", words, got, want)
			}
		}
	}
	if words, ok := Asked([]string{"hank", "go", Flag}); !ok || !slices.Equal(words, []string{"go"}) {
		t.Errorf("%q %v", words, ok)
	}
}
