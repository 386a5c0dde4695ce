#!/bin/sh
# A program of the protocol of exec harnesses that works on a small service, with made-up
# figures, for the pictures of the documents. PACE is how many seconds it takes for a step,
# and SEEN a directory in which it counts what it has met already.
set -eu
say() { printf '{"type":"message","text":"%s"}\n' "$1"; }
think() { printf '{"type":"message","thinking":true,"text":"%s"}\n' "$1"; }
tool() { printf '{"type":"tool","id":"%s","name":"%s","input":{%s}}\n' "$1" "$2" "$3"; sleep "$PACE"; }
gives() { printf '{"type":"toolResult","id":"%s","text":"%s"}\n' "$1" "$2"; }
used() { printf '{"type":"usage","inputTokens":%d,"outputTokens":%d,"costUSD":%s}\n' "$1" "$2" "$3"; }
ends() { printf '{"type":"result","ok":true}\n'; }
fails() { printf '{"type":"result","ok":false,"class":"%s","message":"%s"%s}\n' "$1" "$2" "${3:-}"; exit 0; }
first() { if [ -e "$SEEN/$1" ]; then return 1; fi; : >"$SEEN/$1"; }
case $1 in check | lint) ;; *) printf '{"type":"session","id":"%s"}\n' "$HANK_SESSION" ;; esac
case $1 in
plan)
	say 'I read the issue first, and then write a plan that can be judged.'
	tool a Read '"file_path":"issue.md"'; gives a '# Forecasts\n\nServe the forecast of the feed, at most ten minutes old.'
	printf '# Plan\n\n1. Parse the feed\n2. Keep answers for ten minutes\n3. Test both\n' >plan.md
	tool b Write '"file_path":"plan.md","content":"# Plan\n\n1. Parse the feed\n2. Keep answers for ten minutes\n3. Test both\n"'; gives b 'written'
	used 8200 900 0.21; say 'The plan has three steps.'; ends ;;
feed)
	say 'I fetch an answer of the feed, to see its shape.'
	tool a Bash '"command":"curl -s https://feed.example/today.json"'
	if first feed; then
		gives a 'curl: (28) Operation timed out after 30000 milliseconds'; used 3100 200 0.07
		fails timeout 'the feed did not answer within 30 s'
	fi
	gives a '{\"day\": \"Monday\", \"high\": 21}'
	cat >weather.go <<'GO'
package weather

import "encoding/json"

// Forecast is what the feed says of one day.
type Forecast struct {
	Day  string `json:"day"`
	High int    `json:"high"`
}

// Parse reads an answer of the feed.
func Parse(text []byte) (f Forecast, err error) {
	err = json.Unmarshal(text, &f)
	return f, err
}
GO
	tool b Write '"file_path":"weather.go","content":"package weather"'; gives b 'written'
	used 12400 2100 0.38; say 'The feed is parsed.'; ends ;;
improve)
	n=$HANK_ITERATION
	say "I look for what the tests do not cover."
	tool a Bash '"command":"go test -cover ./..."'; gives a "ok  \tweather\t0.012s	coverage: $((55 + n * 15))% of statements"
	case $n in
	0) what='An answer may be empty' code='if len(text) == 0 {\n\t\treturn f, ErrEmpty\n\t}' ;;
	1) what='A day may be missing' code='if f.Day == \"\" {\n\t\treturn f, ErrNoDay\n\t}' ;;
	*) what='An answer may be too old' code='if age > MaxAge {\n\t\treturn f, ErrOld\n\t}' ;;
	esac
	think "$what, and no test has that."
	tool b Edit "\"file_path\":\"weather.go\",\"old_string\":\"return f, err\",\"new_string\":\"$code\n\treturn f, err\""; gives b 'edited'
	printf '\n// Round %d: %s.\nvar Err%d = errors.New("weather: round %d")\n' "$n" "$what" "$n" "$n" >>weather.go
	tool c Bash '"command":"go test ./..."'; gives c 'ok  \tweather\t0.014s'
	used $((9000 + n * 2500)) 1500 "0.$((31 + n * 9))"; say "$what: that is an error now, with a test."; ends ;;
check)
	sleep "$PACE"
	echo "ok weather 0.012s coverage: $((70 + HANK_ITERATION * 12))% of statements" | tee results.txt ;;
lint)
	sleep "$PACE"
	echo 'weather.go:4:1: imported and not used: "errors"'
	exit 1 ;;
docs)
	say 'README.md says what the service serves, and how old it may be.'
	if first docs; then
		used 2100 80 0.01
		fails usage_limit 'the limit of requests for this hour is reached' ',"retryAfterSeconds":3'
	fi
	tool a Read '"file_path":"weather.go"'; gives a 'package weather\n\nimport \"encoding/json\"\n'
	printf '# Weather service\n\nServes the forecast of the feed. An answer is at most ten minutes old.\n\n    GET /forecast\n' >README.md
	tool b Write '"file_path":"README.md","content":"# Weather service\n\nServes the forecast of the feed. An answer is at most ten minutes old.\n"'; gives b 'written'
	used 5600 700 0.04; say 'README.md is written.'; ends ;;
publish | upload)
	say 'I upload the parts, and then compare their sums.'
	for part in 1 2 3 4 5 6 7 8 9 10 11 12; do
		if [ "$1$part" = upload4 ]; then PACE=40; fi # long enough to be looked at
		: >"$SEEN/part-$part"
		tool "p$part" Bash "\"command\":\"upload part-$part\""; gives "p$part" 'uploaded, 4.2 MB'
		used 410 60 0.01
	done
	ends ;;
limited)
	say 'I translate the pages of the guide.'
	used 9100 1100 0.19
	: >"$SEEN/limit"
	fails usage_limit 'the limit of requests for this day is reached' ',"retryAfterSeconds":5400' ;;
esac
