blank=$(printf '[ \t]')
grep -rlI "$blank\$" code | while IFS= read -r file; do
    sed "s/$blank*\$//" "$file" >"$file.new" && cat "$file.new" >"$file" && rm "$file.new"
done
echo "Blanks at the ends of lines are gone."
