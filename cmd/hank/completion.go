package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hank/runtime/exitcode"
)

// The program is asked for what can follow: with the words so far and, after
// them, the flag --generate-bash-completion.

const bashCompletion = `# hank completion for bash. To use it now:   source <(hank completion bash)
# For every shell: hank completion bash > ~/.local/share/bash-completion/completions/hank
_hank() {
    local word="${COMP_WORDS[COMP_CWORD]}"
    local -a asked=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
    [[ "$word" == -* ]] && asked+=("$word")
    local found
    found="$("${COMP_WORDS[0]}" "${asked[@]}" --generate-bash-completion 2>/dev/null)" || return
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$found" -- "$word"))
}
complete -o bashdefault -o default -F _hank hank
`

const zshCompletion = `#compdef hank
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
        compadd -- "${found[@]}"
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

const fishCompletion = `# hank completion for fish. To use it now:   hank completion fish | source
# For every shell: hank completion fish > ~/.config/fish/completions/hank.fish
function __hank_complete
    set -l asked (commandline -opc)
    set -l word (commandline -ct)
    set -e asked[1]
    string match -q -- '-*' $word; and set -a asked $word
    hank $asked --generate-bash-completion 2>/dev/null
end
complete -c hank -a '(__hank_complete)'
`

func completionCommand() *cli.Command {
	scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	return &cli.Command{
		Name: "completion", Usage: "print a shell completion script", ArgsUsage: "bash|zsh|fish",
		Description: `To use it now:  source <(hank completion bash)
The script itself tells where to install it for every shell.

Example: hank completion zsh > "${fpath[1]}/_hank"`,
		Action: func(c *cli.Context) error {
			if err := arguments(c, 1, 1); err != nil {
				return err
			}
			script, ok := scripts[c.Args().First()]
			if !ok {
				return &exitcode.UsageError{Why: fmt.Sprintf("unsupported shell %q (bash, zsh, fish)", c.Args().First())}
			}
			fmt.Print(script)
			return nil
		},
		BashComplete: func(c *cli.Context) {
			if c.NArg() == 0 {
				fmt.Print("bash\nzsh\nfish\n")
			}
		},
	}
}
