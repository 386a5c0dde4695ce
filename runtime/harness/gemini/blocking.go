package gemini

import (
	"encoding/json"
	"net/url"
	"strings"

	"hank/runtime/harness"
)

// nodeOptions is the variable of the program that runs the agent.
const nodeOptions = "NODE_OPTIONS"

// waitForReader makes the agent wait until what it prints is read. By itself it ends
// when it is done, and what does not fit into the pipe is lost: 64 KiB, which the output of
// one command can fill. The last of it is the result.
//
// The option is a program that is run before the agent, and takes the option away
// again, so that what the agent starts does not have it.
func waitForReader(env harness.Environ) {
	before := env[nodeOptions]
	restore := "delete process.env." + nodeOptions
	if before != "" {
		text, _ := json.Marshal(before) // a string can be encoded
		restore = "process.env." + nodeOptions + "=" + string(text)
	}
	program := "for(const s of[process.stdout,process.stderr])s._handle?.setBlocking?.(true);" + restore
	env[nodeOptions] = strings.TrimSpace(before + " --import=data:text/javascript," + url.PathEscape(program))
}
