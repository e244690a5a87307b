/**
 * kill -9 during questions in stored conversations: each turn that was answered exists afterwards.
 */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type ServerProcess, startServer, withFolder } from '../server/server-process.ts'

const KILLS = 2
const TALKERS = 4
const AGENTS = '/api/projects/mindsdb/agents'

test('what was answered with 200 before the kill is there after it', async () => {
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: join(folder, 'data'), EIDER_LOG_LEVEL: 'error' }
    let server = await startServer(environment)
    await server.send('POST', AGENTS, { agent: { name: 'helper' } })
    const answered = new Map<string, number>()
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const enough = Promise.withResolvers<void>()
      const wanted = total(answered) + 12
      const note = (id: string) => {
        answered.set(id, (answered.get(id) ?? 0) + 1)
        if (total(answered) >= wanted) enough.resolve()
      }
      const talks = Array.from({ length: TALKERS }, () => talk(server, note))
      await enough.promise
      server.kill('SIGKILL')
      await server.exited
      await Promise.all(talks)
      server = await startServer(environment)
      for (const [id, count] of answered) {
        const response = await server.send('GET', `${AGENTS}/helper/conversations/${id}`)
        expect(response.status).toBe(200)
        const { turn_count: kept } = (await response.json()) as { turn_count: number }
        expect(kept).toBeGreaterThanOrEqual(count)
      }
    }
    server.kill('SIGKILL')
    await server.exited
  })
}, 120_000)

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

/** Asks question after question in one conversation until the server is gone. */
async function talk(server: ServerProcess, answered: (id: string) => void): Promise<void> {
  let id = 'new'
  try {
    for (;;) {
      const messages = [{ role: 'user', content: 'In how many days?' }]
      const body = { messages, conversation_id: id }
      const response = await server.send('POST', `${AGENTS}/helper/completions`, body)
      const { message } = (await response.json()) as { message: { conversation_id: string } }
      id = message.conversation_id
      answered(id)
    }
  } catch {
    // The server was killed.
  }
}
