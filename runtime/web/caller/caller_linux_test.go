package caller

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheCallerIsFound: this process, and one that it has given the connection to.
func TestTheCallerIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ network, address string }{{"tcp", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"unix", filepath.Join(t.TempDir(), "s")}} {
		t.Run(c.network, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen(c.network, c.address)
			if err != nil {
				t.Skip(err) // a machine without IPv6
			}
			defer l.Close()
			client, err := net.Dial(c.network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			served, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer served.Close()
			uid, pids, err := Of(served)
			if err != nil || uid != os.Getuid() || !slices.Equal(pids, []int{os.Getpid()}) {
				t.Fatalf("user %d, processes %v, %v; want %d, %d", uid, pids, err, os.Getuid(), os.Getpid())
			}
			tcp, ok := client.(*net.TCPConn)
			if !ok {
				return
			}
			file, err := tcp.File()
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			heir := exec.Command("cat")
			heir.ExtraFiles = []*os.File{file}
			in, err := heir.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := heir.Start(); err != nil {
				t.Fatal(err)
			}
			_, pids, err = Of(served)
			if err != nil || !slices.Contains(pids, heir.Process.Pid) || !slices.Contains(pids, os.Getpid()) {
				t.Errorf("of an inherited connection: %v, %v; want %d and %d", pids, err, os.Getpid(), heir.Process.Pid)
			}
			_ = in.Close()
			_ = heir.Wait()
		})
	}
}

func TestATableOfTheKernelIsRead(t *testing.T) {
	t.Parallel()
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 20 4 0 10 -1
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 13 1 0 20 4 0 10 -1
`
	uid, inode, err := find(bufio.NewScanner(strings.NewReader(table)), netip.MustParseAddrPort("127.0.0.1:8080"), netip.MustParseAddrPort("127.0.0.1:50000"))
	if uid != 1000 || inode != "12" || err != nil {
		t.Errorf("user %d, inode %q, %v; want the socket of the client", uid, inode, err)
	}
}
