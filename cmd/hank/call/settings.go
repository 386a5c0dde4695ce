package call

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/vfs"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
	"hank/plan/model"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/report"
	"hank/state"
)

func errorsOnly(found []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	var out []diagnostic.Diagnostic
	for _, d := range found {
		if d.Severity == diagnostic.Error {
			out = append(out, d)
		}
	}
	return out
}

var CapFlag = &cli.StringFlag{Name: "checkpoint-cap", Usage: "limit checkpoint storage to `SIZE` from now on, such as 20GB (0 = unlimited; 50GB until it is set); the run pauses at the limit"}

var SandboxFlag = &cli.StringFlag{Name: "sandbox", Usage: "`MODE`: workspace restricts agents, rigs and checks to writing in the workspace and a home and temp directory of their own; none (default) leaves them your access"}

// Settings reads hankweave.json, the environment and the flags.
func Settings(c *cli.Context) (config.Layers, error) {
	layers, found, err := SettingsFound(c, c.String("config"))
	if err == nil && len(errorsOnly(found)) > 0 {
		err = &exitcode.InvalidError{Diagnostics: found}
	}
	return layers, err
}

// SettingsFound is Settings with the settings file name, empty for the default one, and with
// what is to be said of it and the environment: errors, too.
func SettingsFound(c *cli.Context, name string) (layers config.Layers, found []diagnostic.Diagnostic, err error) {
	text, err := vfs.ReadLimited(OrDefault(name, "hankweave.json"), config.LargestFile)
	switch {
	case err == nil:
		layers.File, found = config.Parse(text)
		layers.Document = func() *jsonshape.Document { return config.Document(OrDefault(name, "hankweave.json"), text) }
		for i := range found {
			found[i].File = OrDefault(name, "hankweave.json")
		}
	case name != "" || !os.IsNotExist(err):
		return layers, nil, &exitcode.UsageError{Why: fmt.Sprintf("cannot read the settings file %s: %v", OrDefault(name, "hankweave.json"), err)}
	}
	list, wrong, err := listOfModels(OrDefault(name, "hankweave.json"), layers.File)
	if err != nil {
		return layers, nil, err
	}
	found = append(found, wrong...)
	file := layers.File
	layers.Models = sync.OnceValue(func() *model.Registry { return file.Registry(OrDefault(name, "hankweave.json"), list) })
	env, more := config.ParseEnviron(os.Environ())
	layers.Env = env
	found = append(found, more...)
	layers.Flags = config.Settings{Model: c.String("model"), ShimIdleTimeout: c.Int("shim-idle-timeout")}
	limits, err := Limits(c)
	if err != nil {
		return layers, nil, err
	}
	layers.Limited = limits.MaxDollars != nil && *limits.MaxDollars > 0
	if c.Bool("allow-bypass") {
		yes := true
		layers.Flags.AllowBypass = &yes
	}
	if c.Bool("check-outputs") {
		yes := true
		layers.Flags.CheckOutputs = &yes
	}
	if c.Bool("ignore-rig-failures") {
		yes := true
		layers.Flags.IgnoreRigFailures = &yes
	}
	if layers.Flags.CheckpointCap, err = GivenCap(c); err != nil {
		return layers, nil, err
	}
	switch layers.Flags.Sandbox = config.Sandbox(c.String("sandbox")); layers.Flags.Sandbox {
	case "", config.NoSandbox, config.WorkspaceSandbox:
	default:
		return layers, nil, NotOneOf("sandbox", c.String("sandbox"), "workspace", "none")
	}
	return layers, found, nil
}

// listOfModels reads the list of models that the settings in a file name.
func listOfModels(settings string, s config.Settings) (model.List, []diagnostic.Diagnostic, error) {
	name := s.ModelsFile()
	if name == "" {
		return model.List{}, nil, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(settings), name)
	}
	text, err := vfs.ReadLimited(name, config.LargestModels)
	if err != nil {
		return model.List{}, nil, &exitcode.UsageError{Why: fmt.Sprintf(`cannot read the list of models that "models" in %s names: %v`, settings, err)}
	}
	var changed time.Time
	if fi, err := os.Stat(name); err == nil {
		changed = fi.ModTime()
	}
	list, found := config.ParseModels(name, text, changed)
	return list, found, nil
}

// SettingsHere are the settings that hold here, for those who only report.
func SettingsHere(c *cli.Context) report.Settings {
	layers, err := Settings(c)
	return report.Settings{Layers: layers, Wrong: err}
}

// Continues says how an execution continues after an answer or the end of a hold; live: it is
// running. After a rejection the next run only has the codon fail, unless its onFailure continues.
func Continues(root string, in report.Settings, live, rejected bool) string {
	if live {
		return "; the run continues"
	}
	switch f := report.FollowsIn(root, in); {
	case f.Gate != nil:
		return "; " + f.Gate.Waits()
	case f.Held && rejected:
		return "; its codon fails in the next run, and onFailure applies; to let it run: `" + f.Command + "`"
	case f.Command != "" && rejected:
		return "; with `" + f.Command + "` its codon fails, and onFailure applies" + f.First
	case f.Command != "":
		return "; to continue: `" + f.Command + "`" + f.First
	}
	return ""
}

// Limits are what --max-cost and --max-time say.
func Limits(c *cli.Context) (runtime.LimitChange, error) {
	var change runtime.LimitChange
	cost, err := limit(c, "max-cost")
	if err != nil {
		return change, err
	}
	if cost != nil {
		dollars := state.Dollars(*cost)
		if *cost > 0 && dollars <= 0 { // less than can be counted
			return change, badLimit(c, "max-cost")
		}
		change.MaxDollars = &dollars
	}
	change.MaxTimeSeconds, err = limit(c, "max-time")
	return change, err
}

// limit is the number that a flag gives, 0 for none; nil if it is not given.
func limit(c *cli.Context, name string) (*float64, error) {
	if !c.IsSet(name) {
		return nil, nil
	}
	n, err := 0.0, error(nil)
	if text := c.String(name); text != "none" {
		if n, err = strconv.ParseFloat(text, 64); err != nil || !(n > 0) || math.IsInf(n, 0) {
			return nil, badLimit(c, name)
		}
		if n > mostLimit {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("--%s takes at most %.0f (none: no limit), not %q", name, float64(mostLimit), text)}
		}
	}
	return &n, nil
}

// mostLimit is how many dollars or seconds a limit can be.
const mostLimit = 9e9

func badLimit(c *cli.Context, name string) error {
	return &exitcode.UsageError{Why: fmt.Sprintf("--%s takes a positive number or none, not %q", name, c.String(name))}
}

// GivenCap is what --checkpoint-cap says; not set where it is not given.
func GivenCap(c *cli.Context) (config.Size, error) {
	if !c.IsSet("checkpoint-cap") {
		return "", nil
	}
	size, err := config.ParseSize(c.String("checkpoint-cap"))
	if err != nil {
		return "", &exitcode.UsageError{Why: "--checkpoint-cap: " + err.Error()}
	}
	return size, nil
}
