package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"hank/plan/model"
	"hank/runtime/report/output"
	"hank/state"
)

// version is set when hank is released: -ldflags "-X main.version=1.2.3".
// Otherwise it is what the build says of itself.
var version string

func init() {
	if version == "" {
		version = buildVersion(debug.ReadBuildInfo())
	}
}

func buildVersion(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Description: `Also prints the state schema, the day of the list of models that is built in (hank
models tells of newer ones), and the platform.
hank --version and hank -v print the same.

Example: hank version --json`,
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			v := output.Version{Schema: 1, Version: version, StateSchema: state.SchemaVersion, Models: model.Date(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					switch s.Key {
					case "vcs.revision":
						v.Commit = s.Value
					case "vcs.modified":
						v.Modified = s.Value == "true"
					}
				}
			}
			if c.Bool("json") {
				return printJSON(v)
			}
			line := "hank " + v.Version
			if v.Commit != "" {
				line += fmt.Sprintf(" (commit %.12s)", v.Commit)
			}
			say("%s, state schema %d, models of %s, %s %s/%s\n", line, v.StateSchema, v.Models, v.Go, v.OS, v.Arch)
			return nil
		},
	}
}
