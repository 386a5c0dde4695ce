# What this codon does is decided by files in $GATE. Without them it works.
set -eu
gate=${GATE:-/nonexistent}
echo attempt >>work.txt
[ ! -e "$gate/large" ] || head -c 200000 /dev/urandom >large.bin
if [ -e "$gate/wait" ]; then
	touch "$gate/started"
	while [ ! -e "$gate/open" ]; do sleep 0.02; done
fi
if [ -e "$gate/spend" ]; then
	echo '::hank usage {"model":"test","inputTokens":100,"outputTokens":50,"costUSD":1.5}'
	sleep 60
fi
[ ! -e "$gate/fail" ] || exit 3
echo worked >>work.txt
