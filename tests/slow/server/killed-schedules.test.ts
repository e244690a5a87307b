/** Sends kill -9 during runs of CREATE JOB. LAST must neither miss nor duplicate rows. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { isEverything } from '../../support/sample.ts'
import { type ServerProcess, startServer, withFolder } from './server-process.ts'

const ROWS = 400
const KILLS = isEverything ? 4 : 2

test('each row is taken once, whenever the server is killed', async () => {
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: join(folder, 'data'), EIDER_SCHEDULE_SECONDS_MIN: '1' }
    let server = await startServer(environment)
    const sql = async (query: string) => {
      const answer = (await (await server.send('POST', '/api/sql/query', { query })).json()) as {
        readonly data?: readonly (readonly unknown[])[]
        readonly error_message?: string
      }
      if (answer.error_message !== undefined) throw new Error(answer.error_message)
      return answer.data ?? []
    }
    await sql('CREATE KNOWLEDGE_BASE kb USING id_column = "id", content_columns = ["text"]')
    const rows = (count: number) =>
      `SELECT range AS id, 'leaf ' || range AS text FROM range(${count})`
    await sql(`CREATE TABLE t AS ${rows(ROWS)}`)
    await sql('CREATE JOB j (INSERT INTO kb SELECT * FROM t WHERE id > LAST) EVERY 1 second')
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await Bun.sleep((kill * 370) % 1500)
      server.kill('SIGKILL')
      await server.exited
      server = await startServer(environment)
      await sql(`CREATE OR REPLACE TABLE t AS ${rows((kill + 1) * ROWS)}`)
    }
    const wanted = (KILLS + 1) * ROWS
    await settled(server, wanted, sql)
    expect(
      await sql('SELECT count(*), count(DISTINCT id), min(id::INT), max(id::INT) FROM kb'),
    ).toEqual([[wanted, wanted, 0, wanted - 1]])
    const job = await (await server.send('GET', '/api/projects/mindsdb/jobs/j')).json()
    expect(job).toMatchObject({ last: { 0: { value: String(wanted - 1) } } })
    server.kill('SIGKILL')
    await server.exited
  })
}, 180_000)

/** Resolves when the last row is stored and the run that stored it has ended. */
async function settled(
  server: ServerProcess,
  wanted: number,
  sql: (query: string) => Promise<readonly (readonly unknown[])[]>,
): Promise<void> {
  for (;;) {
    const [[count] = []] = await sql('SELECT count(*) FROM kb')
    const path = '/api/jobs?kind=schedule&state=running&limit=1'
    const { total } = (await (await server.send('GET', path)).json()) as { total: number }
    if (Number(count) >= wanted && total === 0) return
    await Bun.sleep(200)
  }
}
