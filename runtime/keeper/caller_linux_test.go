package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"testing"

	"hank/internal/proc"
)

func init() {
	// mayact prints whether this process may act on executions.
	parts["mayact"] = func(targets []string) {
		for _, target := range targets {
			var denied *proc.DeniedError
			if err := proc.MayAct(os.Getpid(), target, ""); errors.As(err, &denied) {
				fmt.Println("denied", filepath.Base(target))
			} else {
				fmt.Println("allowed", filepath.Base(target), err)
			}
		}
	}
}

// TestACodonActsOnlyInItsWorkspace asks from everything that a codon can start,
// however it hides.
func TestACodonActsOnlyInItsWorkspace(t *testing.T) {
	t.Parallel()
	ask := `"$SELF" __part mayact "$PWD/own" "$PWD/link" "$PWD/../beside" "$PWD/.." /`
	want := "allowed own <nil>\ndenied link\ndenied beside\ndenied ..\ndenied /\n"
	for name, script := range map[string]string{
		"a child":             ask,
		"an orphan":           `(` + ask + ` >out; mv out done) & exec 3>&1; (exit 0)`,
		"a daemon":            `setsid sh -c '(` + ask + ` >out; mv out done) &'`,
		"without environment": `env -i SELF="$SELF" PWD="$PWD" ` + ask,
		"a hidden daemon":     `env -i SELF="$SELF" PWD="$PWD" PATH="$PATH" setsid sh -c '(` + ask + ` >out; mv out done) &'`,
		"with forged marks":   `HANK_ATTEMPT=notify/x HANK_WORKSPACE=/ ` + ask,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := shell(t, "mkdir own; ln -s .. link; "+script+`; case "`+name+`" in *orphan*|*daemon*) until [ -e done ]; do sleep 0.01; done; cat done;; esac`)
			spec.Env = append(spec.Env, "PWD="+spec.Dir)
			exit, out, errs := run(t, spec)
			if exit.Code != 0 || out != want {
				t.Errorf("exit %+v:\n%s%s", exit, out, errs)
			}
		})
	}
}

// TestWhoeverIsBelowNoKeeperMayAct, and below two keepers only where both allow it.
func TestWhoeverIsBelowNoKeeperMayAct(t *testing.T) {
	t.Parallel()
	if err := proc.MayAct(os.Getpid(), "/", ""); err != nil {
		t.Error(err)
	}
	spec := shell(t, `mkdir own inner; cd inner; "$SELF" __part inner "$PWD"`)
	exit, out, errs := run(t, spec)
	if want := "denied own\nallowed inner <nil>\n"; exit.Code != 0 || out != want {
		t.Errorf("exit %+v:\n%s%s", exit, out, errs)
	}
}

func init() {
	// inner is a runtime below a keeper, whose codon asks.
	parts["inner"] = func(args []string) {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		var out lines
		p, err := Start(Spec{Args: []string{self, "__part", "mayact", filepath.Join(args[0], "../own"), args[0]}, Env: os.Environ(), Dir: args[0], Attempt: "inner-" + os.Getenv(attemptVariable)},
			Streams{&out, &out})
		if err != nil {
			panic(err)
		}
		if _, err := p.Wait(); err != nil {
			panic(err)
		}
		fmt.Print(out.String())
	}
}
