package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/recovery"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
)

// Confinement is what the setting sandbox comes to for a hank, a place and a
// machine.
type Confinement struct {
	Sandbox plan.Sandbox `json:"sandbox"`       // what is asked for
	InForce bool         `json:"inForce"`       // it is asked for, and this kernel does it
	ABI     int          `json:"abi"`           // of the kernel's Landlock; 0 is none
	Why     string       `json:"why,omitempty"` // why this kernel cannot
	// Problem is why the hank cannot be run like this anywhere, and what to do;
	// empty if it can.
	Problem string `json:"problem,omitempty"`
	// Writable is where agents, rigs and checks can write, links followed;
	// sandbox.Devices are left out. nil is anywhere.
	Writable []string `json:"writable,omitempty"`
}

// Confine works out what holds for a program in an execution. environ is what
// agents will get, kernel what can be confined. Nothing is written.
func Confine(p *plan.Program, wanted plan.Sandbox, l recovery.Layout, environ []string, kernel sandbox.Support) *Confinement {
	c := &Confinement{Sandbox: wanted, ABI: kernel.ABI, Why: kernel.Why}
	if wanted != plan.WorkspaceSandbox {
		c.Sandbox = plan.NoSandbox
		return c
	}
	c.Writable, c.Problem = allowList(l, harnessesOf(p), environ), checkApart(l)
	c.InForce = kernel.InForce() && c.Problem == ""
	return c
}

// allowList is where a hank that works with some harnesses can write. It is
// pure but for following links. Of the folders for temporary files, one for
// each codon, the pattern is in it.
func allowList(l recovery.Layout, names, environ []string) []string {
	list := []string{sandbox.Real(l.Workspace)}
	for _, name := range names {
		list = append(list, sandbox.Real(filepath.Join(l.Homes(), name)))
	}
	list = append(list, filepath.Join(sandbox.Real(l.Temps()), "*"))
	if slices.Contains(names, claude.Name) {
		list = append(list, claude.LoginFiles(environ)...)
	}
	return list
}

// harnessesOf names the harnesses of a program's codons, in order. A model
// that hank cannot drive is for others to complain about.
func harnessesOf(p *plan.Program) []string {
	var names []string
	eachCodon(p, func(c *plan.Codon) {
		if name, err := c.Model.Harness(); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}

func eachCodon(p *plan.Program, do func(*plan.Codon)) {
	for _, item := range p.Hank.Items {
		if item.Codon != nil {
			do(item.Codon)
			continue
		}
		for i := range item.Loop.Codons {
			do(&item.Loop.Codons[i])
		}
	}
}

// checkApart refuses a workspace that hank's own files lie in: what may be
// written there could not be told from what may not.
func checkApart(l recovery.Layout) string {
	own, workspace := sandbox.Real(l.Hankweave()), sandbox.Real(l.Workspace)
	if !sandbox.Contains(workspace, own) {
		return ""
	}
	return fmt.Sprintf("sandbox: workspace lets agents write all of the workspace %s, and hank's own folder %s lies in it; keep the execution elsewhere: -e DIR with a folder outside, or give the agents a folder of their own: --workspace DIR (or do without: --sandbox none)", workspace, own)
}

// confine sees that what is asked for is in force before anything is started,
// and says what it comes to.
func (d *driver) confine() error {
	c := Confine(d.program, d.settings.Sandbox, d.x.Layout, d.environ(), d.opts.kernel())
	if err := c.refusal(); err != nil || c.Sandbox != plan.WorkspaceSandbox {
		return err
	}
	d.confinement = c
	d.say("sandbox: in force (Landlock %d); agents, rigs and checks write only in %s", c.ABI, strings.Join(c.Writable, ", "))
	d.note("sandbox.applied", c)
	return nil
}

// kernel is what the run may count on.
func (o Options) kernel() sandbox.Support {
	if o.Kernel != nil {
		return *o.Kernel
	}
	return sandbox.Kernel()
}

// confineNew is confine for an execution that is not made yet.
func confineNew(p *plan.Program, root string, o Options) error {
	l := recovery.Layout{Root: root, Workspace: recovery.DefaultWorkspace(root)}
	if o.Workspace != "" {
		l.Workspace = absolute(o.Workspace)
	}
	return Confine(p, p.Settings.Sandbox, l, (&driver{opts: o}).environ(), o.kernel()).refusal()
}

// refusal is why a hank that asks for it is not run without it; nil if it can be
// run.
func (c *Confinement) refusal() error {
	if c.Problem != "" {
		return &UsageError{c.Problem}
	}
	if c.Sandbox != plan.WorkspaceSandbox || c.InForce {
		return nil
	}
	return &AgentError{"the hank asks for sandbox: workspace, and that cannot be in force here: " + c.Why + "; nothing was started; run it where the kernel can, or, if you trust its agents with everything that you may write, without: --sandbox none"}
}

// home makes the folder that the attempt's agent has for its own.
func (a *attempt) home() (string, error) {
	home := filepath.Join(a.x.Layout.Homes(), a.harnessName())
	return home, sandbox.Folder(home)
}

func (a *attempt) tempPath() string {
	return filepath.Join(a.x.Layout.Temps(), string(a.run)+"-"+plan.SafeFileName(a.entry.CodonID))
}

// temp makes the attempt's folder for temporary files.
func (a *attempt) temp() (string, error) {
	temp := a.tempPath()
	return temp, sandbox.Folder(temp)
}

// writable is what the processes of the attempt may change; nil is anything.
func (a *attempt) writable() ([]string, error) {
	if a.confinement == nil {
		return nil, nil
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	temp, err := a.temp()
	if err != nil {
		return nil, err
	}
	list := []string{sandbox.Real(a.x.Layout.Workspace), sandbox.Real(home), sandbox.Real(temp)}
	if a.harnessName() == claude.Name {
		list = append(list, claude.LoginFiles(withEnv(a.environ(), a.entry.Codon.Env))...)
	}
	return list, nil
}

// commandEnviron is what scripts, rigs and checks get. Confined ones have home
// and temp folder where they can write; programs keep caches there.
func (a *attempt) commandEnviron() []string {
	environ := a.environFor(a.entry, a.id, a.number)
	if a.confinement == nil {
		return environ
	}
	env := harness.NewEnviron(environ)
	env["HOME"] = filepath.Join(a.x.Layout.Homes(), a.harnessName())
	env["TMPDIR"] = a.tempPath()
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		delete(env, name) // they lead to the user's
	}
	return env.Finish(nil)
}

// dropTemp removes the attempt's temporary files.
func (a *attempt) dropTemp() { _ = os.RemoveAll(a.tempPath()) }
