package proc

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"hank/internal/secret"
)

// TestACommandLineIsCutAfterItsSecretsAreMasked: the value of a secret that a process has in its
// environment is known where the cut would leave a part of it.
func TestACommandLineIsCutAfterItsSecretsAreMasked(t *testing.T) {
	t.Parallel()
	const value = "plainsecretvalue12345"
	for _, before := range []int{0, maxCmdLine - 30, maxCmdLine - 18, maxCmdLine - 10, maxCmdLine} {
		cmd := exec.Command("sh", "-c", "read x", strings.Repeat("0", before)+value)
		cmd.Args[0] = strings.Repeat("s", 2*maxCmdLine-4) + value
		cmd.Env = []string{"MY_TOKEN=" + value}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = stdin.Close()
			_ = cmd.Wait()
		})
		id, line := identify(t, cmd.Process.Pid), ""
		for end := time.Now().Add(time.Minute); !strings.Contains(line, " -c read x ") && time.Now().Before(end); { // it has none for a moment
			line = id.CmdLine()
		}
		if strings.Contains(line, value[:3]) || !strings.Contains(line, secret.Mask[:1]) || !strings.Contains(line, " -c read x ") {
			t.Errorf("%d characters before the secret: %q", before, line)
		}
	}
}
