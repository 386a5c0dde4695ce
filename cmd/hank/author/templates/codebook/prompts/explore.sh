# For an agent instead: set "model" to sonnet in hank.json, and write here in words
# what it is to find out.
data=${HANK_DATA:-sample}
[ -d "$data" ] || data=sample
(cd "$data" && find . -type f -name '*.csv' | sed 's|^\./||' | sort) >tables.txt
[ -s tables.txt ] || { echo "there is no table (*.csv) in $data"; exit 1; }
echo "Tables listed in tables.txt: $(($(wc -l <tables.txt)))."
