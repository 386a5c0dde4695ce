blank=$(printf '[ \t]')
grep -rnI "$blank\$" code >REVIEW.md || echo "Nothing was found." >REVIEW.md
echo "Lines in REVIEW.md: $(($(wc -l <REVIEW.md)))."
