// Written by hank for each start of the agent. The agent's own lines say nothing while it
// waits for its provider; this tells it on the standard error.
export const Hank = async () => ({
  event: async ({ event }) => {
    const { sessionID, status } = event.properties ?? {}
    const retries = event.type === "session.status" && status?.type === "retry"
    if (!retries && event.type !== "session.compacted") return
    process.stderr.write(JSON.stringify({ hank: event.type, sessionID, now: Date.now(), ...(retries ? status : {}) }) + "\n")
  },
})
