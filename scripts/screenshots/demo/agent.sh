#!/bin/sh
# A program of the protocol of exec harnesses that works on a small service, with made-up
# figures, for the pictures of the documents.
set -eu
say() { printf '{"type":"message","text":"%s"}\n' "$1"; }
tool() { printf '{"type":"tool","id":"%s","name":"%s","input":{%s}}\n' "$1" "$2" "$3"; }
gives() { printf '{"type":"toolResult","id":"%s","text":"%s"}\n' "$1" "$2"; }
used() { printf '{"type":"usage","inputTokens":%d,"outputTokens":%d,"costUSD":%s}\n' "$1" "$2" "$3"; }
done_() { printf '{"type":"result","ok":true,"text":"%s"}\n' "$1"; }
printf '{"type":"session","id":"%s"}\n' "${HANK_SESSION}"
case $1 in
plan)
	say 'I read the issue first, and then write a plan that can be judged.'
	tool a Read '"file_path":"issue.md"'; gives a '# Forecasts\n\nServe the forecast of the feed, at most ten minutes old.'
	sleep "$PACE"
	printf '# Plan\n\n1. Parse the feed\n2. Keep answers for ten minutes\n3. Test both\n' >plan.md
	tool b Write '"file_path":"plan.md"'; gives b 'written'
	used 8200 900 0.21; say 'The plan has three steps.'; done_ 'plan.md has three steps' ;;
feed)
	tool a Bash '"command":"curl -s https://feed.example/today.json"'
	sleep "$PACE"
	if [ ! -e "$SEEN" ]; then
		: >"$SEEN"
		gives a '503 Service Unavailable'; used 3100 200 0.07
		printf '{"type":"result","ok":false,"class":"transient","message":"the feed answers 503"}\n'
		exit 0
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
	tool b Write '"file_path":"weather.go"'; gives b 'written'
	used 12400 2100 0.38; say 'The feed is parsed.'; done_ 'weather.go parses the feed' ;;
improve)
	round=$2
	say "Round $round: I look for what the tests do not cover."
	tool a Bash '"command":"go test -cover ./..."'; gives a "ok  weather  coverage: $((60 + round * 15))% of statements"
	sleep "$PACE"
	printf '\n// Age%s is how old an answer may be, in minutes.\nconst Age%s = %d\n' "$round" "$round" $((10 + round)) >>weather.go
	tool b Edit '"file_path":"weather.go"'; gives b 'edited'
	used $((9000 + round * 2500)) 1500 "0.$((31 + round * 9))"; say "Round $round is done."; done_ "round $round" ;;
publish)
	say 'I publish what was approved.'
	for part in 1 2 3 4 5 6 7 8; do
		tool "p$part" Bash "\"command\":\"upload part-$part\""; sleep "$PACE"; gives "p$part" 'uploaded'
	done
	cp weather.go published.go
	used 4100 600 0.11; done_ 'published' ;;
esac
