/** Several servers share a knowledge base. Each uses definitions that another one changed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TestApp } from '../../support/test-app.ts'
import { KB, must, postgresApps, run } from './apps.ts'

const { server, connected, sql, close } = await postgresApps()
const storage = (copy: boolean) =>
  `storage = ${JSON.stringify({ database: 'pg', table: 'kb', copy })}`

afterAll(close)

/** By then, a poll every second has brought the changes. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 10_000; Date.now() < end; await Bun.sleep(50)) {
    if (await isSo()) return
  }
  throw new Error('it did not arrive')
}

describe.skipIf(server === null)('a knowledge base that several Eiders share', () => {
  let maker: TestApp
  let copied: TestApp
  let lean: TestApp

  beforeAll(async () => {
    maker = await connected()
    copied = await connected()
    lean = await connected()
    await must(maker, `CREATE KNOWLEDGE_BASE kb USING ${storage(true)}`)
    await must(copied, `CREATE KNOWLEDGE_BASE kb USING ${storage(true)}, attach = true`)
    await must(lean, `CREATE KNOWLEDGE_BASE kb USING ${storage(false)}, attach = true`)
    await must(maker, `INSERT INTO kb (id, content) VALUES ('a', 'green tea from the mountain')`)
  })

  const shown = async (one: TestApp) => {
    const { content_columns, metadata_columns, id_column, params } = (await one.send('GET', KB))
      .body as Record<string, unknown>
    const { hybrid_search, preprocessing } = params as Record<string, unknown>
    return { content_columns, metadata_columns, id_column, hybrid_search, preprocessing }
  }

  test('settings, columns and chunking changed by one arrive at the others', async () => {
    const chunking = `preprocessing = {"type": "text_chunking", "text_chunking_config": {"chunk_size": 40, "chunk_overlap": 0}}`
    const columns = `metadata_columns = ['kind', {"name": "day", "type": "DATE"}]`
    await must(lean, `ALTER KNOWLEDGE_BASE kb USING hybrid_search = true, ${columns}, ${chunking}`)
    const wanted = await shown(lean)
    expect(wanted.hybrid_search).toBe(true)
    for (const other of [maker, copied]) {
      await until(async () => Bun.deepEquals(await shown(other), wanted))
      const text = 'a long text that is cut into several chunks of forty characters each'
      await must(other, `INSERT INTO kb (id, content, day) VALUES ('b', '${text}', '2024-05-01')`)
      expect(
        await other.rows(`SELECT count(*) > 1 FROM kb WHERE id = 'b'`).catch(() => []),
      ).toEqual([[true]])
    }
  })

  test('a statement uses them at once where rows are copied', async () => {
    await must(maker, 'ALTER KNOWLEDGE_BASE kb USING hybrid_search = null')
    await copied.rows(`SELECT id FROM kb WHERE content = 'tea' LIMIT 1`)
    expect((await shown(copied)).hybrid_search).toBeUndefined()
  })

  test('an index of pgvector made by one is what EXPLAIN of the others names', async () => {
    const second = await connected()
    await must(second, `CREATE KNOWLEDGE_BASE kb USING ${storage(false)}, attach = true`)
    const plan = async (one: TestApp) => {
      return JSON.stringify(
        await one.rows(`EXPLAIN SELECT id FROM kb WHERE content = 'tea' LIMIT 1`),
      )
    }
    expect(await plan(second)).toContain('measures all vectors')
    await must(lean, 'CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = hnsw)')
    await until(async () => (await plan(second)).includes('HNSW'))
    await must(second, 'DROP KNOWLEDGE_BASE kb')
  })

  test('two that change it at the same time: one must try again, or both hold', async () => {
    const results = await Promise.all([
      run(maker, 'ALTER KNOWLEDGE_BASE kb USING hybrid_search_alpha = 0.1'),
      run(copied, `ALTER KNOWLEDGE_BASE kb USING id_column = 'number'`),
    ])
    for (const failure of results) if (failure !== null) expect(failure).toContain('try again')
    await until(async () => Bun.deepEquals(await shown(maker), await shown(copied)))
  })

  test('the tables go with the last one that uses them', async () => {
    await must(maker, 'DROP KNOWLEDGE_BASE kb')
    expect(await copied.rows(`SELECT id FROM kb WHERE id = 'a'`)).toEqual([['a']])
    await must(copied, 'DROP KNOWLEDGE_BASE kb')
    expect(await lean.rows(`SELECT id FROM kb WHERE content = 'green tea' LIMIT 1`)).toEqual([
      ['a'],
    ])
    await must(lean, 'DROP KNOWLEDGE_BASE kb')
    expect(await sql(`SELECT to_regclass('eider.kb') AS found`)).toEqual([{ found: null }])
    expect(await sql('SELECT name FROM eider.knowledge_bases')).toEqual([])
  })
})
