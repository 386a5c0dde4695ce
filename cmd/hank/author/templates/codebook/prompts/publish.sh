{
    echo "# Codebook"
    echo
    for page in codebook/*.md; do
        [ "$page" = codebook/README.md ] || echo "- [$(sed -n '1s/^# //p' "$page")]($(basename "$page"))"
    done
} >codebook/README.new
mv codebook/README.new codebook/README.md
echo "The index is codebook/README.md."
