package argv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"pgregory.net/rapid"
)

type parsed struct {
	dir   string
	limit int
	json  bool
	args  []string
}

func app(into *parsed) *cli.App {
	return &cli.App{Name: "hank", Commands: []*cli.Command{{
		Name: "verb",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "execution", Aliases: []string{"e"}},
			&cli.IntFlag{Name: "limit"},
			&cli.BoolFlag{Name: "json"},
		},
		Action: func(c *cli.Context) error {
			*into = parsed{c.String("execution"), c.Int("limit"), c.Bool("json"), c.Args().Slice()}
			return nil
		},
	}}}
}

func parse(t interface{ Fatal(...any) }, args []string) parsed {
	var p parsed
	a := app(&p)
	ordered, err := Reorder(a, args)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(ordered); err != nil {
		t.Fatal(err)
	}
	return p
}

// The tests that run an app are not parallel: urfave/cli keeps some of its
// state in global variables.
func TestAnyOrderOfFlagsAndArgumentsMeansTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var want parsed
		var units [][]string // a flag with its value stays together
		if rapid.Bool().Draw(rt, "e") {
			want.dir = rapid.SampledFrom([]string{"d", "-d", "a b", "--json"}).Draw(rt, "dir")
			units = append(units, rapid.SampledFrom([][]string{{"-e", want.dir}, {"--execution=" + want.dir}, {"-execution", want.dir}}).Draw(rt, "spelling"))
		}
		if rapid.Bool().Draw(rt, "limit") {
			want.limit = rapid.IntRange(0, 9).Draw(rt, "n")
			units = append(units, []string{"--limit", fmt.Sprint(want.limit)})
		}
		if rapid.Bool().Draw(rt, "json") {
			want.json = true
			units = append(units, []string{"--json"})
		}
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "run", "=", "-", "a=b"}), 0, 3).Draw(rt, "words")
		for _, w := range words {
			units = append(units, []string{w})
		}
		args := []string{"hank", "verb"}
		for _, u := range rapid.Permutation(units).Draw(rt, "order") {
			args = append(args, u...)
		}
		got := parse(rt, args)
		slices.Sort(got.args)
		slices.Sort(words)
		if got.dir != want.dir || got.limit != want.limit || got.json != want.json || !slices.Equal(got.args, words) && len(words) > 0 {
			rt.Fatalf("%q: %+v, want %+v %q", args, got, want, words)
		}
	})
}

func TestDoubleDashProtectsArguments(t *testing.T) {
	got := parse(t, []string{"hank", "verb", "a", "--json", "--", "--limit", "-x"})
	if !got.json || got.limit != 0 || !slices.Equal(got.args, []string{"a", "--limit", "-x"}) {
		t.Errorf("%+v", got)
	}
}

func TestHelpIsThatOfTheCommandAndNotOfAnArgument(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"verb x --json --help": "verb --help",
		"verb -h x":            "verb --help",
		"verb -- --help":       "verb -- --help",
		"verb -e --help x":     "verb -e --help -- x",
	} {
		if got, err := Reorder(app(&parsed{}), strings.Fields("hank "+args)); err != nil || strings.Join(got, " ") != "hank "+want {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
}

func TestAFlagThatIsNotThereIsAUsageError(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"verb x --jsn":   "did you mean --json?",
		"verb x --zzzzz": "see: hank verb --help",
		"verb x --limit": "needs a value",
	} {
		_, err := Reorder(app(&parsed{}), strings.Fields("hank "+args))
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// A flag is left out in each of its spellings, and a value or an argument that looks like
// it stays.
func TestAFlagIsLeftOutHoweverItIsWritten(t *testing.T) {
	for _, spelled := range []string{"--json", "-json", "--json=true", "-json=1", "--json=t", "--json=false"} {
		for _, c := range [][2][]string{
			{{"hank", "verb", spelled}, {"hank", "verb"}},
			{{"hank", "verb", "x", "-e", "d", spelled}, {"hank", "verb", "-e", "d", "--", "x"}},
			{{"hank", "verb", spelled, "x", spelled, "--limit=3"}, {"hank", "verb", "--limit=3", "--", "x"}},
			{{"hank", "verb", "-e", spelled, "--", spelled}, {"hank", "verb", "-e", spelled, "--", spelled}},
		} {
			got, err := Without(app(&parsed{}), c[0], "json")
			if err != nil || !slices.Equal(got, c[1]) {
				t.Errorf("%q becomes %q, %v; want %q", c[0], got, err, c[1])
			}
		}
	}
	for _, args := range [][]string{{"hank"}, {"hank", "nothing", "--json"}, {"hank", "--json"}} {
		if got, err := Without(app(&parsed{}), args, "json"); err != nil || !slices.Equal(got, args) {
			t.Errorf("%q becomes %q, %v", args, got, err)
		}
	}
	if _, err := Without(app(&parsed{}), []string{"hank", "verb", "--jsom"}, "json"); err == nil {
		t.Error("a flag that there is not")
	}
}
