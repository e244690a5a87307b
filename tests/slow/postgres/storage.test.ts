/** Knowledge bases in a real PostgreSQL with pgvector must behave like those in the embedded store. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testPostgres } from '../../support/database-servers.ts'
import type { TestApp } from '../../support/test-app.ts'
import { connection, KB, must, postgresApps, run } from './apps.ts'

const { server, app, connected, sql, close } = await postgresApps()
afterAll(close)

const TEAS = [
  ['a', 'Lapsang is smoked over pinewood fires', 'black', 9, '2024-01-05'],
  ['b', 'Sencha is steamed and tastes of fresh grass', 'green', 7, '2024-02-01'],
  ['c', 'Gyokuro grows in the shade, a green tea of Japan', 'green', 21, '2024-02-03'],
  ['d', 'Pu-erh ages for years in caves', 'dark', 15, '2023-11-30'],
  ['e', 'Rooibos is not made of tea leaves', 'herbal', 4, '2024-03-09'],
  ['f', 'A green tea roasted with rice is called genmaicha', 'green', 6, '2024-01-20'],
] as const

const ROWS = TEAS.map(([id, content, kind, price, day]) => ({ id, content, kind, price, day }))

const QUESTIONS = [
  `SELECT id, distance FROM kb WHERE content = 'green tea of Japan' LIMIT 3`,
  `SELECT id, relevance FROM kb WHERE content = 'green tea' AND hybrid_search = true LIMIT 4`,
  `SELECT id, relevance FROM kb WHERE content = 'smoked pinewood' AND hybrid_search_alpha = 0 LIMIT 4`,
  `SELECT id FROM kb WHERE content = '"green tea"' AND hybrid_search = true LIMIT 4`,
  `SELECT id FROM kb WHERE content = 'tea' AND kind = 'green' AND price < 20 LIMIT 2`,
  `SELECT id, distance FROM kb WHERE content = 'tea' AND day >= '2024-02-01' LIMIT 5`,
  'SELECT count(*) FROM kb',
  'SELECT kind, count(*), max(price) FROM kb GROUP BY kind ORDER BY kind',
  'SELECT id, chunk_id, chunk_content, metadata FROM kb ORDER BY chunk_id',
  `SELECT t.id, k.id FROM kb AS t JOIN kb AS k ON t.kind = k.kind AND t.id < k.id ORDER BY ALL`,
  `WITH near AS (SELECT id, distance FROM kb WHERE content = 'grass') SELECT count(*) FROM near`,
]

/** What each step does to the stored data. */
const STEPS: readonly (readonly [string, (one: TestApp) => Promise<unknown>])[] = [
  ['rows are inserted', (one) => one.send('PUT', KB, { knowledge_base: { rows: ROWS } })],
  [
    'a stored id replaces its document',
    (one) => {
      const rows = [{ id: 'a', content: 'Lapsang tastes of smoke', kind: 'black', price: 10 }]
      return one.send('PUT', KB, { knowledge_base: { rows } })
    },
  ],
  ['metadata are updated', (one) => run(one, `UPDATE kb SET price = 8.5 WHERE id = 'b'`)],
  [
    'a text is updated',
    (one) => run(one, `UPDATE kb SET content = 'Pu-erh is pressed into cakes' WHERE id = 'd'`),
  ],
  ['a document is deleted', (one) => run(one, `DELETE FROM kb WHERE id = 'e'`)],
  ['documents are deleted by what they hold', (one) => run(one, 'DELETE FROM kb WHERE price > 20')],
  [
    'a document is put',
    (one) => {
      const body = { content: 'Matcha is ground green tea', metadata: { kind: 'green', price: 30 } }
      return one.send('PUT', `${KB}/documents/m`, body)
    },
  ],
  [
    'a document is patched',
    (one) => one.send('PATCH', `${KB}/documents/m`, { metadata: { price: null, fine: true } }),
  ],
  ['rows come from a query', (one) => run(one, FROM_QUERY)],
]

const FROM_QUERY = `INSERT INTO kb SELECT 'q' || i AS id, 'oolong number ' || i AS content,
  i AS price, DATE '2024-05-01' + i::INTEGER AS day FROM range(5) AS r(i)`

/** Returns everything that can be queried, except what depends on time. */
async function answers(one: TestApp): Promise<unknown> {
  const asked = []
  for (const question of QUESTIONS) asked.push(await one.rows(question))
  const documents = await one.send('GET', `${KB}/documents`)
  const document = await one.send('GET', `${KB}/documents/m`)
  const found = await one.send('POST', `${KB}/search`, { query: 'green tea', k: 3 })
  const { results } = found.body as { results: unknown }
  return {
    asked,
    documents: documents.body,
    document: document.status === 200 ? document.body : null,
    results,
  }
}

describe.skipIf(server === null)('a knowledge base in PostgreSQL', () => {
  let embedded: TestApp
  let remote: TestApp

  beforeAll(async () => {
    embedded = await app()
    remote = await connected()
    await must(embedded, 'CREATE KNOWLEDGE_BASE kb')
    await must(remote, `CREATE KNOWLEDGE_BASE kb USING storage = {"database": "pg", "table": "kb"}`)
  })

  for (const [name, step] of STEPS) {
    test(`${name}: the answers are those of the embedded store`, async () => {
      await step(embedded)
      await step(remote)
      expect(await answers(remote)).toEqual(await answers(embedded))
    })
  }

  test('its rows are in PostgreSQL, with counts of them and of their terms', async () => {
    const [[count = []] = []] = [await remote.rows('SELECT count(*) FROM kb')]
    const [stored] = await sql('SELECT count(*)::int AS n FROM eider.kb')
    const [counted] = await sql('SELECT chunk_count::int AS n FROM eider.knowledge_bases')
    expect([stored?.n, counted?.n]).toEqual([count[0], count[0]])
    const [differing] = await sql(`SELECT count(*)::int AS n FROM eider."kb:terms" AS t
      WHERE chunk_count <> (SELECT count(*) FROM eider.kb AS c WHERE c.terms @> ARRAY[t.term])`)
    expect(differing?.n).toBe(0)
  })

  test('another Eider attaches it, and gives the same answers', async () => {
    const other = await connected()
    const attach = `CREATE KNOWLEDGE_BASE kb USING storage = {"database": "pg", "table": "kb"}, attach = true`
    await must(other, attach)
    expect(await answers(other)).toEqual(await answers(remote))
    await must(
      other,
      `INSERT INTO kb (id, content, kind) VALUES ('z', 'Assam from the plains', 'black')`,
    )
    const found = await remote.rows(`SELECT id FROM kb WHERE content = 'Assam plains' LIMIT 1`)
    expect(found).toEqual([['z']])
    await must(remote, `DELETE FROM kb WHERE id = 'z'`)
    expect(await other.rows(`SELECT count(*) FROM kb WHERE id = 'z'`)).toEqual([[0]])
    await must(other, 'DROP KNOWLEDGE_BASE kb')
    expect(await sql('SELECT 1 AS n FROM eider.kb LIMIT 1')).toEqual([{ n: 1 }])
  })

  test('two Eiders that write the same documents leave one whole version of each', async () => {
    const other = await connected()
    const both = `storage = {"database": "pg", "table": "both"}`
    await must(remote, `CREATE KNOWLEDGE_BASE shared USING ${both}`)
    await must(other, `CREATE KNOWLEDGE_BASE shared USING ${both}, attach = true`)
    const writer = async (one: TestApp, name: string) => {
      for (let round = 0; round < 8; round += 1) {
        const rows = [1, 2, 3].map((id) => ({
          id,
          content: `${name} ${round} of ${id}`,
          name,
          round,
        }))
        const path = '/api/projects/mindsdb/knowledge_bases/shared'
        const { status } = await one.send('PUT', path, { knowledge_base: { rows } })
        expect(status).toBe(200)
      }
    }
    await Promise.all([writer(remote, 'one'), writer(other, 'two')])
    const stored = 'SELECT id, chunk_content, name, round FROM shared ORDER BY id'
    const rows = await remote.rows(stored)
    expect(rows).toHaveLength(3)
    for (const [id, content, name, round] of rows) {
      expect(content).toBe(`${name} ${round} of ${id}`)
    }
    expect(await other.rows(stored)).toEqual(rows)
  })

  test('a write that was answered is there after the server was killed', async () => {
    await must(remote, `INSERT INTO kb (id, content) VALUES ('kept', 'Earl Grey with bergamot')`)
    await server?.restart()
    const found = await remote.rows(`SELECT id FROM kb WHERE content = 'bergamot' LIMIT 1`)
    expect(found).toEqual([['kept']])
  })

  test('a server that cannot be reached is named, and used again when it can', async () => {
    const at = (port: unknown) => {
      const moved = { port, password: server?.parameters.password }
      return `ALTER DATABASE pg PARAMETERS = ${JSON.stringify(moved)}`
    }
    await must(remote, at(1))
    const search = `SELECT id FROM kb WHERE content = 'tea' LIMIT 1`
    expect(await run(remote, search)).toContain('Data source pg (postgres at 127.0.0.1:1)')
    const rows = [{ id: 'lost', content: 'never stored' }]
    const put = await remote.send('PUT', KB, { knowledge_base: { rows } })
    expect([put.status, put.text.includes('the connection is refused')]).toEqual([502, true])
    await must(remote, at(server?.port))
    expect(await remote.rows(search)).toHaveLength(1)
    expect(await remote.rows(`SELECT id FROM kb WHERE id = 'lost'`)).toEqual([])
  })

  test('a server that takes no writes, tables of a later Eider, and tables that are gone', async () => {
    await must(
      remote,
      `CREATE KNOWLEDGE_BASE odd USING storage = {"database": "pg", "table": "odd"}`,
    )
    const insert = `INSERT INTO odd (id, content) VALUES ('a', 'some text')`
    await must(remote, insert)
    await sql(`UPDATE eider.knowledge_bases SET format = 99 WHERE name = 'odd'`)
    expect(await run(remote, 'SELECT id FROM odd')).toContain('later Eider')
    expect(await run(remote, insert)).toContain('update Eider')
    await sql(`UPDATE eider.knowledge_bases SET format = 1 WHERE name = 'odd'`)
    expect(await remote.rows('SELECT id FROM odd')).toEqual([['a']])
    await sql('DROP TABLE eider.odd')
    expect(await run(remote, insert)).toContain('the tables were dropped there')
    await must(remote, 'DROP KNOWLEDGE_BASE odd')
  })

  test('the examples of docs/scaling.md', async () => {
    const page = await Bun.file(join(import.meta.dir, '../../../docs/scaling.md')).text()
    const [made = '', attached = ''] = [...page.matchAll(/```sql\n([^`]*)```/g)].map(
      ([, one]) => one,
    )
    const [one, other] = [await connected(), await connected()]
    const [, ...statements] = made.trim().split(/;\n?/).filter(Boolean)
    const found = statements.pop() ?? ''
    for (const statement of statements) await must(one, statement)
    await must(other, attached.replace(';', ''))
    expect(await other.rows(found)).toEqual([['sencha']])
  })

  test('after a restart it knows where the rows are, with a copy and without one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'eider-remote-'))
    const storage = (copy: boolean) => JSON.stringify({ database: 'pg', table: 'kb', copy })
    const before = await connected(folder)
    for (const [name, copy] of [['kb', true] as const, ['lean', false] as const]) {
      const attached = `storage = ${storage(copy)}, attach = true`
      await must(before, `CREATE KNOWLEDGE_BASE ${name} USING ${attached}`)
    }
    const asked = ['kb', 'lean'].map((name) => {
      return `SELECT id, chunk_content FROM ${name} WHERE content = 'green tea' LIMIT 3`
    })
    const found = await Promise.all(asked.map((one) => before.rows(one)))
    await before.close()
    const after = await app(folder)
    expect(await Promise.all(asked.map((one) => after.rows(one)))).toEqual(found)
    expect(await run(after, 'SELECT max(price) FROM lean')).toContain('Not without a copy')
    await must(after, `INSERT INTO lean (id, content) VALUES ('y', 'Yunnan is malty')`)
    expect(await remote.rows(`SELECT chunk_content FROM kb WHERE id = 'y'`)).toHaveLength(1)
    await must(remote, `DELETE FROM kb WHERE id = 'y'`)
    expect(await after.rows(`SELECT count(*) FROM kb WHERE id = 'y'`)).toEqual([[0]])
    await after.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('a file of it goes into the embedded store and back', async () => {
    const exported = await remote.app.handle(new Request(`http://localhost${KB}/export`))
    expect(exported.status).toBe(200)
    const file = new File([await exported.arrayBuffer()], 'kb.parquet')
    const into = async (one: TestApp, name: string) => {
      const body = new FormData()
      body.set('file', file)
      return one.send('POST', `/api/projects/mindsdb/knowledge_bases/${name}/import`, body)
    }
    await must(
      remote,
      `CREATE KNOWLEDGE_BASE back USING storage = {"database": "pg", "table": "back"}`,
    )
    expect((await into(remote, 'back')).status).toBe(200)
    const all = (name: string) =>
      `SELECT chunk_id, chunk_content, metadata FROM ${name} ORDER BY chunk_id`
    expect(await remote.rows(all('back'))).toEqual(await remote.rows(all('kb')))
  })

  test('the connection stays while a knowledge base is stored there, which takes its tables along', async () => {
    expect(await run(remote, 'DROP DATABASE pg')).toContain('knowledge base mindsdb.kb')
    await must(remote, 'DROP KNOWLEDGE_BASE back')
    expect(await sql(`SELECT to_regclass('eider.back') AS found`)).toEqual([{ found: null }])
    expect(await sql(`SELECT 1 FROM eider.knowledge_bases WHERE name = 'back'`)).toEqual([])
  })
})

describe.skipIf(server === null)('what cannot be a knowledge base in PostgreSQL', () => {
  let one: TestApp
  const create = (table: string, more = '', database = 'pg') => {
    const storage = JSON.stringify({ database, table })
    return run(one, `CREATE KNOWLEDGE_BASE refused USING storage = ${storage}${more}`)
  }

  beforeAll(async () => {
    one = await connected()
  })

  test('a connection without the permission', async () => {
    const parameters = JSON.stringify(server?.parameters)
    await must(one, `CREATE DATABASE plain ENGINE = 'postgres', PARAMETERS = ${parameters}`)
    expect(await create('refused', '', 'plain')).toContain(
      'ALTER DATABASE plain PARAMETERS = {"storage": true}',
    )
    await must(one, `ALTER DATABASE plain PARAMETERS = {"storage": true}`)
    expect(await create('refused', '', 'plain')).toBeNull()
    await must(one, 'DROP KNOWLEDGE_BASE refused')
  })

  test('a table that Eider did not make, or that holds a knowledge base', async () => {
    await sql('CREATE SCHEMA IF NOT EXISTS eider; CREATE TABLE eider.foreign_table (id int)')
    expect(await create('foreign_table')).toContain('Eider did not make')
    await must(
      one,
      `CREATE KNOWLEDGE_BASE first USING storage = {"database": "pg", "table": "first"}`,
    )
    const other = await connected()
    const again = `CREATE KNOWLEDGE_BASE again USING storage = {"database": "pg", "table": "first"}`
    expect(await run(other, again)).toContain('attach = true')
  })

  test('an attachment to nothing, with settings of its own, or to tables of a later Eider', async () => {
    expect(await create('nothing', ', attach = true')).toContain('holds no knowledge base')
    expect(await create('first', `, attach = true, language = 'german'`)).toContain('language')
    expect(await run(one, 'CREATE KNOWLEDGE_BASE refused USING attach = true')).toContain('storage')
    await sql(
      `INSERT INTO eider.knowledge_bases (name, format, definition) VALUES ('later', 99, '{}')`,
    )
    expect(await create('later', ', attach = true')).toContain('later Eider')
  })

  test('a login that may not create, a server that refuses, one without pgvector', async () => {
    await sql(`CREATE ROLE guest LOGIN PASSWORD 'guest'`)
    await sql('CREATE DATABASE locked')
    const guest = { ...server?.parameters, user: 'guest', password: 'guest', database: 'locked' }
    await must(one, connection(guest, 'guest'))
    expect(await create('refused', '', 'guest')).toMatch(/permission denied|GRANT CREATE/)
    await must(one, connection({ ...server?.parameters, port: 1 }, 'silent'))
    expect(await create('refused', '', 'silent')).toContain('the connection is refused')
    const plain = await testPostgres()
    if (plain === null) return
    await must(one, connection(plain.parameters, 'debian'))
    expect(await create('refused', '', 'debian')).toContain('no pgvector')
    await plain.stop()
  })

  test('nothing is left of what was refused', async () => {
    expect(
      await one.rows(`SELECT name FROM information_schema.knowledge_bases WHERE name = 'refused'`),
    ).toEqual([])
    expect(await sql(`SELECT to_regclass('eider.refused') AS found`)).toEqual([{ found: null }])
  })

  test('another embedding model, and a text with NUL', async () => {
    const model = `ALTER KNOWLEDGE_BASE first USING embedding_model = {"provider": "openai", "model_name": "other", "api_key": "k"}`
    expect(await run(one, model)).toContain('keeps its embedding model')
    const rows = [{ id: 'n', content: 'before\0after' }]
    const path = '/api/projects/mindsdb/knowledge_bases/first'
    const { status, text } = await one.send('PUT', path, { knowledge_base: { rows } })
    expect([status, text.includes('NUL')]).toEqual([400, true])
  })
})
