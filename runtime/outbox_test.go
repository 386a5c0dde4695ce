package runtime

import (
	"fmt"
	"strings"
	"testing"

	"hank/runtime/progress"
)

// What takes its time to be put together holds nobody up who tells of it, and comes in
// its place all the same.
func TestWhatIsToldComesInOrder(t *testing.T) {
	t.Parallel()
	var said []string
	box, counted := &outbox{}, make(chan struct{})
	ui := UI{Say: func(line string) { said = append(said, line) }}.through(box)
	ui.Say("first")
	box.later(func() func() {
		<-counted
		return func() { box.show(progress.Remark{Text: "counted"}) }
	})
	for i := range 20 {
		if i%2 == 0 {
			ui.Say(fmt.Sprint(i))
		} else {
			ui.Show(progress.Remark{Text: fmt.Sprint(i)})
		}
	}
	close(counted)
	box.wait()
	ui.Say("last")
	if got, want := strings.Join(said, " "), "first counted 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 last"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	(&outbox{}).wait()
	UI{}.through(box).Show(progress.Remark{})
}
