package harness

import (
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
)

// longestReset is the longest time to the end of a limit that is believed.
const longestReset = 32 * 24 * time.Hour

const (
	clock = `(\d{1,2})(?::(\d{2}))?\s?([ap]\.?m\.?)?(?:\s?\(([A-Za-z]+(?:/[A-Za-z_+\-0-9]+)*)\))?`
	month = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (20\d\d))?,?(?: at)? `
)

var (
	// usage limit reached|1755806400 · "resetsAt":1755806400
	resetEpoch = lazyregexp.New(`(?i)(?:limit reached\||\bresets?_?at"?\s*[:=]\s*"?)(1\d{9})(?:\d{3})?\b`)
	// try again in 3 days 4 hours 22 minutes · quota will reset after 18h24m20s · resets in 2h
	resetSpan = lazyregexp.New(`(?i)\b(?:try again|retry|resets?|available|wait)\b[^.\n]{0,20}?\b(?:in|after|for) (?:about )?((?:\d{1,4}(?:\.\d+)?\s?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b[\s,]*(?:and\s)?|\d{1,4}h(?:\d{1,2}m)?(?:\d{1,2}(?:\.\d+)?s)?|\d{1,4}m\d{1,2}(?:\.\d+)?s)+)`)
	// resets Oct 6, 1pm · try again at Nov 12th, 2025 4:32 PM
	resetDate = lazyregexp.New(`(?i)\b(?:resets?|try again|available)(?: (?:on|at|again))* ` + month + clock)
	// resets 3:45pm (Europe/Berlin) · try again at 5:46 PM
	resetClock = lazyregexp.New(`(?i)\b(?:resets?(?: at)?|try again at|available (?:again )?at) ` + clock)

	spanPart = lazyregexp.New(`(?i)(\d+(?:\.\d+)?)\s?(days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)`)
)

// ResetAt finds when a limit ends that a text speaks of: as seconds since 1970, as a span
// from now, as a date, or as a time of day, which is the next such one. A time is that of
// the zone that is named, or of now's.
func ResetAt(text string, now time.Time) (time.Time, bool) {
	text = Excerpt(text, maxEvidence)
	var at time.Time
	if m := resetEpoch.FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64)
		at = time.Unix(seconds, 0)
	} else if m := resetSpan.FindStringSubmatch(text); m != nil {
		at = now.Add(span(m[1]))
	} else if m := resetDate.FindStringSubmatch(text); m != nil {
		at = dated(m, now)
	} else if m := resetClock.FindStringSubmatch(text); m != nil {
		at = nextClock(m[1:], now)
	}
	if !at.After(now) || at.Sub(now) > longestReset {
		return time.Time{}, false
	}
	return at, true
}

// span adds up an amount such as 3 days 4 hours.
func span(text string) (d time.Duration) {
	for _, part := range spanPart.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(part[1], 64)
		unit := time.Second
		switch part[2][0] | 0x20 {
		case 'd':
			unit = 24 * time.Hour
		case 'h':
			unit = time.Hour
		case 'm':
			unit = time.Minute
		}
		d += time.Duration(n * float64(unit))
	}
	return d
}

// timeOfDay reads hour, minute, half of the day and zone. A number alone is no time of day.
func timeOfDay(m []string, now time.Time) (hour, minute int, zone *time.Location, ok bool) {
	hour, _ = strconv.Atoi(m[0])
	minute, _ = strconv.Atoi(m[1])
	zone = now.Location()
	if m[3] != "" { // in a zone that this machine does not know it is no time that it knows
		if zone, ok = known(m[3]); !ok {
			return 0, 0, nil, false
		}
	}
	if half := strings.ToLower(m[2]); half != "" {
		if hour < 1 || hour > 12 {
			return 0, 0, nil, false
		}
		if hour %= 12; half[0] == 'p' {
			hour += 12
		}
	} else if m[1] == "" {
		return 0, 0, nil, false
	}
	return hour, minute, zone, hour < 24 && minute < 60
}

// known is a zone, if this machine has it.
func known(name string) (*time.Location, bool) {
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

func nextClock(m []string, now time.Time) time.Time {
	hour, minute, zone, ok := timeOfDay(m, now)
	if !ok {
		return time.Time{}
	}
	here := now.In(zone)
	at := time.Date(here.Year(), here.Month(), here.Day(), hour, minute, 0, 0, zone)
	if !at.After(now) {
		at = time.Date(here.Year(), here.Month(), here.Day()+1, hour, minute, 0, 0, zone)
	}
	return at
}

// dated reads a day of a year, or of the next such one, and a time of it.
func dated(m []string, now time.Time) time.Time {
	hour, minute, zone, ok := timeOfDay(m[4:], now)
	if !ok {
		return time.Time{}
	}
	named, _ := time.Parse("Jan", strings.ToUpper(m[1][:1])+strings.ToLower(m[1][1:3]))
	day, _ := strconv.Atoi(m[2])
	year, _ := strconv.Atoi(m[3])
	if year != 0 {
		return time.Date(year, named.Month(), day, hour, minute, 0, 0, zone)
	}
	at := time.Date(now.In(zone).Year(), named.Month(), day, hour, minute, 0, 0, zone)
	if at.Before(now) {
		at = at.AddDate(1, 0, 0)
	}
	return at
}
