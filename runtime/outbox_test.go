package runtime

import (
	"fmt"
	"strings"
	"testing"

	"hank/runtime/progress"
	"hank/runtime/request"
)

// What takes its time to be put together holds nobody up who tells of it, and comes in
// its place all the same.
func TestWhatIsToldComesInOrder(t *testing.T) {
	t.Parallel()
	var said []string
	box, counted := &request.Outbox{}, make(chan struct{})
	ui := UI{Say: func(line string) { said = append(said, line) }}.Through(box)
	ui.Say("first")
	box.Later(func() func() {
		<-counted
		return func() { box.Show(progress.Remark{Text: "counted"}) }
	})
	for i := range 20 {
		if i%2 == 0 {
			ui.Say(fmt.Sprint(i))
		} else {
			ui.Show(progress.Remark{Text: fmt.Sprint(i)})
		}
	}
	close(counted)
	box.Wait()
	ui.Say("last")
	if got, want := strings.Join(said, " "), "first counted 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 last"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	(&request.Outbox{}).Wait()
	UI{}.Through(box).Show(progress.Remark{})
}
