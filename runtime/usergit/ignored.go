package usergit

import (
	"context"
	"os/exec"
)

// NotIgnored returns those of the paths in a directory that the rules of the user's
// repository around it do not ignore. A directory's path ends with a slash. All are
// returned where stock git does not tell.
func NotIgnored(ctx context.Context, dir string, paths ...string) []string {
	var out []string
	for _, p := range paths {
		cmd := exec.CommandContext(ctx, "git", "check-ignore", "--quiet", "--", p)
		cmd.Dir, cmd.Env = dir, environment()
		if cmd.Run() != nil {
			out = append(out, p)
		}
	}
	return out
}
