# For an agent instead: set "model" to sonnet in hank.json, and write here in words
# what it is to do.
if [ -n "$HANK_DATA" ] && [ -d "$HANK_DATA" ]; then
    rm -rf code && mkdir code && cp -R "$HANK_DATA"/. code/
fi
echo "The code is in code. Number of files: $(($(find code -type f | wc -l)))."
