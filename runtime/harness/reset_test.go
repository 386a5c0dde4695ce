package harness

import (
	"testing"
	"time"
	_ "time/tzdata" // where this machine has no time zones
)

func TestWhenALimitEnds(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 26, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1795712400":                             time.Unix(1795712400, 0),
		"Claude AI usage limit reached|1795712400000":                          time.Unix(1795712400, 0),
		`{"status":"rejected","resetsAt":1795712400}`:                          time.Unix(1795712400, 0),
		"5-hour limit reached ∙ resets 3pm":                                    time.Date(2026, 11, 26, 15, 0, 0, 0, time.UTC),
		"You've hit your session limit · resets 2:15pm":                        time.Date(2026, 11, 27, 14, 15, 0, 0, time.UTC),
		"You've hit your limit · resets 12am (Europe/Berlin)":                  time.Date(2026, 11, 27, 0, 0, 0, 0, berlin),
		"You've hit your weekly limit · resets Nov 28, 1pm":                    time.Date(2026, 11, 28, 13, 0, 0, 0, time.UTC),
		"You've hit your weekly limit · resets Dec 2 at 1:30 pm (UTC)":         time.Date(2026, 12, 2, 13, 30, 0, 0, time.UTC),
		"You've hit your usage limit. Upgrade or try again at 5:46 PM.":        time.Date(2026, 11, 26, 17, 46, 0, 0, time.UTC),
		"You've hit your usage limit. Try again at Nov 30th, 2026 4:32 PM.":    time.Date(2026, 11, 30, 16, 32, 0, 0, time.UTC),
		"You've hit your usage limit. Try again in 3 days 4 hours 22 minutes.": now.Add(76*time.Hour + 22*time.Minute),
		"Your quota will reset after 18h24m20s.":                               now.Add(18*time.Hour + 24*time.Minute + 20*time.Second),
		"resets in 2h":                                                         now.Add(2 * time.Hour),
		"the server resets at 17:05":                                           time.Date(2026, 11, 26, 17, 5, 0, 0, time.UTC),
	} {
		if got, ok := ResetAt(text, now); !ok || !got.Equal(want) {
			t.Errorf("%q: %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "usage limit reached", "resets", "resets 3", "resets 25:00", "resets 13pm", "resets 3:75pm", "try again in a while",
		"Claude AI usage limit reached|1700000000",                 // is past
		"usage limit reached|1999999999", "try again in 4000 days", // is nonsense
		"the test resets 3 counters", "resets 3pm (Middle/Earth)", "try again at the office",
	} {
		if got, ok := ResetAt(text, now); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAUsageLimitIsNoLackOfMoney(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"You've hit your usage limit. Upgrade to Pro or try again in 3 hours.":         ClassUsageLimit,
		"Claude AI usage limit reached|1795712400":                                     ClassUsageLimit,
		"5-hour limit reached ∙ resets 3am":                                            ClassUsageLimit,
		"You've hit your limit · resets 3pm":                                           ClassUsageLimit,
		"You've reached your weekly limit":                                             ClassUsageLimit,
		"Your quota will reset after 18h24m20s.":                                       ClassUsageLimit,
		"You exceeded your current quota, please check your plan and billing details.": ClassBilling,
		"Your credit balance is too low to access the API.":                            ClassBilling,
	} {
		for _, status := range []int{0, 429} {
			if f := Classify(Evidence{Text: text, Status: status}); f.Class != want {
				t.Errorf("%d %q: %s (%s), want %s", status, text, f.Class, f.Rule, want)
			}
		}
	}
	if f := Classify(Evidence{Status: 429, Text: "You exceeded your current quota, please check your plan and billing details. Please retry in 36.9s."}); f.Class != ClassRateLimit || f.RetryAfterMs != 36900 {
		t.Errorf("%+v", f)
	}
}
