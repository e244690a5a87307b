/**
 * What graphical tools send when they connect, explore the schema and read data, according to their
 * public sources and logs, and the expected responses (tools/*.slt). A block is comments, the
 * statement, a line `----`, then the result: columns and rows, or the tag of a statement without
 * rows.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import pg from 'pg'
import { addTeas, type Served, serve } from './postgres-fixture.ts'

let served: Served
beforeAll(async () => {
  served = await serve()
  await addTeas(served)
  for (const sql of [
    'CREATE TABLE notes (a INTEGER PRIMARY KEY, b VARCHAR NOT NULL, made TIMESTAMP, tags VARCHAR[], price DECIMAL(10,2))',
    "INSERT INTO notes VALUES (1, 'one', TIMESTAMP '2026-01-02 03:04:05', ['x', 'y'], 1.5), (2, 'two', NULL, NULL, NULL)",
    'CREATE VIEW cheap AS SELECT id, price FROM teas WHERE price < 6',
  ]) {
    await served.t.send('POST', '/api/sql/query', { query: sql })
  }
})
afterAll(() => served.stop())

const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (value: unknown) => value }

async function answerOf(client: pg.Client, sql: string): Promise<string> {
  try {
    const found = await client.query({ text: sql, rowMode: 'array', types: AS_TEXT })
    // node-postgres gives a list where a text holds several statements; its types do not say so.
    const answers = Array.isArray(found) ? (found as pg.QueryArrayResult<unknown[]>[]) : [found]
    return answers.map(shown).join('\n')
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return `error ${code}: ${message}`
  }
}

function shown({ fields, rows, command, rowCount }: pg.QueryArrayResult<unknown[]>): string {
  if (fields.length === 0) return rowCount === null ? command : `${command} ${rowCount}`
  const lines = [fields.map(({ name }) => name), ...rows.map((row) => row.map(String))]
  return lines.map((line) => line.join(' | ').replaceAll('\n', '\\n').trimEnd()).join('\n')
}

for (const file of [...new Glob('*.slt').scanSync(`${import.meta.dir}/tools`)].sort()) {
  describe(file, async () => {
    const blocks = (await Bun.file(`${import.meta.dir}/tools/${file}`).text()).split(/\n{2,}/)
    let client: pg.Client
    beforeAll(async () => {
      const where = { host: '127.0.0.1', port: served.port, user: 'eider', database: 'mindsdb' }
      client = new pg.Client(where)
      await client.connect()
    })
    afterAll(() => client.end())
    for (const block of blocks) {
      const lines = block.split('\n').filter((line) => !line.startsWith('#'))
      const at = lines.indexOf('----')
      const sql = lines.slice(0, at).join('\n')
      test(sql.replaceAll(/\s+/g, ' ').slice(0, 100), async () => {
        expect(await answerOf(client, sql)).toBe(
          lines
            .slice(at + 1)
            .join('\n')
            .trimEnd(),
        )
      })
    }
  })
}
