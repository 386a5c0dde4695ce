data=${HANK_DATA:-sample}
[ -d "$data" ] || data=sample
mkdir -p codebook
while IFS= read -r table; do
    page=codebook/$(printf '%s' "$table" | tr '/ ' '__').md
    {
        echo "# $table"
        echo
        echo "Rows: $(($(wc -l <"$data/$table") - 1))"
        echo
        echo "| column |"
        echo "|---|"
        head -n 1 "$data/$table" | tr -d '\r' | tr ',' '\n' | sed 's/^/| /; s/$/ |/'
    } >"$page"
done <tables.txt
echo "Each table has a page in codebook."
