while IFS= read -r table; do
    if ! grep -qxF "# $table" codebook/*.md; then
        echo "no page: $table"
    fi
done <tables.txt >report.txt
cat report.txt
! [ -s report.txt ]
