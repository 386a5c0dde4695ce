package completion

// scripts ask for what can follow. Names come from others: no script lets the shell
// expand them.
var scripts = map[string]string{"bash": bash, "zsh": zsh, "fish": fish}

const bash = `# hank completion for bash. To use it now:   source <(hank completion bash)
# For every shell: hank completion bash > ~/.local/share/bash-completion/completions/hank
_hank() {
    # bash also divides words at : = @ (and keeps the @): those that no space is between belong together
    local rest="${COMP_LINE:0:COMP_POINT}" before i
    local -a asked=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        before="${rest%%"${COMP_WORDS[i]}"*}"
        rest="${rest#*"${COMP_WORDS[i]}"}"
        if ((i > 0)) && [[ -n "$COMP_LINE" && -z "$before" && -n "${COMP_WORDS[i]}" ]]; then
            asked[${#asked[@]}-1]+="${COMP_WORDS[i]}"
        else
            asked+=("${COMP_WORDS[i]}")
        fi
    done
    local word="${asked[${#asked[@]}-1]}" cut found quoted
    unset "asked[${#asked[@]}-1]"
    [[ "$word" == -* ]] && asked+=("$word")
    cut="${word%"${word##*[:=]}"}"
    word="${word#[\'\"]}"
    while IFS= read -r found; do
        [[ -n "$found" && "$found" == "$word"* ]] || continue
        found="${found#"$cut"}"
        [[ -n "$found" ]] || continue
        printf -v quoted '%q' "$found"
        [[ "$found" == *['$` + "`" + `"\\ ;&|<>()*?![{']* || "$found" == *"'"* ]] && found="$quoted"
        COMPREPLY+=("$found")
    done < <("${asked[@]}" --generate-bash-completion 2>/dev/null)
}
complete -o nosort -o bashdefault -o default -F _hank hank 2>/dev/null || complete -o bashdefault -o default -F _hank hank
`

const zsh = `#compdef hank
# hank completion for zsh. To use it now:    source <(hank completion zsh)
# For every shell: hank completion zsh > "${fpath[1]}/_hank"
_hank() {
    local word="${words[CURRENT]}"
    local -a asked found
    asked=("${(@)words[2,CURRENT-1]}")
    [[ "$word" == -* ]] && asked+=("$word")
    found=("${(@f)$("${words[1]}" "${asked[@]}" --generate-bash-completion 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( ${#found} )); then
        compadd -V hank -- "${found[@]}"
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _hank ]]; then
    _hank "$@"
else
    compdef _hank hank
fi
`

const fish = `# hank completion for fish. To use it now:   hank completion fish | source
# For every shell: hank completion fish > ~/.config/fish/completions/hank.fish
function __hank_complete
    set -l asked (commandline -opc)
    set -l word (commandline -ct)
    set -e asked[1]
    string match -q -- '-*' $word; and set -a asked $word
    set -l found (hank $asked --generate-bash-completion 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path $word
    end
end
complete -c hank -f -k -a '(__hank_complete)'
`
