/**
 * kill -9 during questions: at most the last second of traces is missing, and no trace is
 * half-written.
 */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type ServerProcess, startServer, withFolder } from '../server/server-process.ts'

const KILLS = 3
/** The number of answers before each kill. */
const ANSWERS_MIN = 4
const ASK = '/api/projects/mindsdb/agents/helper/completions'

test('what was readable in SQL before the kill is there after it, whole', async () => {
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: join(folder, 'data'), EIDER_LOG_LEVEL: 'error' }
    let server = await startServer(environment)
    await sql(server, 'CREATE KNOWLEDGE_BASE docs')
    await sql(server, "INSERT INTO docs (id, content) VALUES ('1', 'Return it in 30 days')")
    const agent = { name: 'helper', data: { knowledge_bases: ['mindsdb.docs'] } }
    await server.send('POST', '/api/projects/mindsdb/agents', { agent })
    let acknowledged = 0
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const enough = Promise.withResolvers<void>()
      const asking = asked(server, enough.resolve)
      await enough.promise
      // A SELECT causes traces that wait in memory to be written.
      const [[count] = []] = await sql(server, 'SELECT count(*) FROM information_schema.traces')
      await Bun.sleep(kill * 170)
      server.kill('SIGKILL')
      await server.exited
      await asking
      acknowledged = Math.max(acknowledged, Number(count))
      server = await startServer(environment)
      const [[kept] = []] = await sql(server, 'SELECT count(*) FROM information_schema.traces')
      expect(Number(kept)).toBeGreaterThanOrEqual(acknowledged)
    }
    expect(acknowledged).toBeGreaterThan(5)
    const torn = `SELECT count(*) FROM information_schema.traces AS t WHERE t.turns + t.steps <> (
      SELECT count(*) FROM information_schema.trace_steps AS s WHERE s.trace_id = t.trace_id)`
    expect(await sql(server, torn)).toEqual([[0]])
    const twice = 'SELECT count(*) - count(DISTINCT trace_id) FROM information_schema.traces'
    expect(await sql(server, twice)).toEqual([[0]])
    server.kill('SIGKILL')
    await server.exited
  })
}, 120_000)

/** Asks until the server is gone. */
async function asked(server: ServerProcess, hasEnough: () => void): Promise<void> {
  const messages = [{ role: 'user', content: 'In how many days?' }]
  try {
    for (let answered = 1; ; answered += 1) {
      await (await server.send('POST', ASK, { messages })).text()
      if (answered === ANSWERS_MIN) hasEnough()
    }
  } catch {
    // The server was killed.
  }
}

async function sql(server: ServerProcess, query: string): Promise<readonly (readonly unknown[])[]> {
  const answer = (await (await server.send('POST', '/api/sql/query', { query })).json()) as {
    readonly data?: readonly (readonly unknown[])[]
    readonly error_message?: string
  }
  if (answer.error_message !== undefined) throw new Error(answer.error_message)
  return answer.data ?? []
}
