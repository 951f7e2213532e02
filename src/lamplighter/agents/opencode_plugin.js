// lamp install opencode wrote this; lamp uninstall opencode takes it away. It tells Lamplighter of each conversation,
// and gives the model what the last session left. Without an answer in time, opencode goes on as if it were not there.
import { spawn } from "node:child_process"

const command = %(command)s
const variables = %(variables)s

function tell(event, said) {
  return new Promise((resolve) => {
    try {
      const env = { ...process.env, ...variables }
      const child = spawn(command[0], [...command.slice(1), "hook", "opencode", event], {
        env, stdio: ["pipe", "pipe", "ignore"],
      })
      let answer = ""
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => (answer += text))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve(""))
      child.on("close", () => resolve(answer))
      child.stdin.end(JSON.stringify(said))
    } catch {
      resolve("")
    }
  })
}

export const Lamplighter = async ({ directory }) => {
  const given = new Map()
  const children = new Set()
  const said = (id, more) => ({ session_id: id, cwd: directory, ...more })
  const begin = (id, source) => given.set(id, tell("start", said(id, { source })))
  return {
    event: async ({ event }) => {
      const about = event.properties ?? {}
      if (event.type === "session.created") {
        if (about.info?.parentID) children.add(about.info.id)
        else if (about.info && !given.has(about.info.id)) begin(about.info.id, "startup")
      } else if (event.type === "session.compacted" && given.has(about.sessionID)) {
        begin(about.sessionID, "compact")
      } else if (event.type === "session.idle" && given.has(about.sessionID)) {
        await tell("stop", said(about.sessionID))
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      if (given.has(sessionID)) await tell("compact", said(sessionID, { trigger: "auto" }))
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      if (!sessionID || children.has(sessionID)) return
      if (!given.has(sessionID)) begin(sessionID, "resume")
      const text = await given.get(sessionID)
      if (text) system.push(text)
    },
  }
}
