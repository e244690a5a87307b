/** A knowledge base whose chunks are on three PostgreSQL servers, spread by deploy/postgres-nodes, and two Eiders. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestServer } from '../../support/database-servers.ts'
import { PGVECTOR_BINARIES, testPgvectorNodes } from '../../support/pgvector-server.ts'
import { sampleOf } from '../../support/sample.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { connection, KB, must, run } from './apps.ts'
import { corpus, searches } from './corpus.ts'

const servers = await testPgvectorNodes(4, { settings: ['log_statement=all'] })
const [coordinator, ...nodes] = servers ?? []
const folder = mkdtempSync(join(tmpdir(), 'eider-nodes-'))
const opened: TestApp[] = []
const STORAGE = 'storage = {"database": "pg", "table": "kb", "copy": false}'
const NODE_MS = 15_000

afterAll(async () => {
  for (const one of opened) await one.close()
  for (const server of servers ?? []) await server.stop()
  rmSync(folder, { recursive: true })
})

async function eider(): Promise<TestApp> {
  const one = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
  opened.push(one)
  await must(one, connection(coordinator?.parameters ?? {}))
  return one
}

/**
 * Runs a script of deploy/postgres-nodes.
 * @returns its error message if it fails
 */
function script(name: string, used: readonly TestServer[], more: Record<string, string> = {}) {
  const list = join(folder, 'nodes.txt')
  const lines = used.map(({ host, port, database, user }, index) => {
    return `node${index + 1} ${host} ${port} ${database} ${user}`
  })
  writeFileSync(list, `# name host port database login\n${lines.join('\n')}\n`)
  const { port, user, password = '', database } = coordinator ?? {}
  const { exitCode, stderr } = Bun.spawnSync([`deploy/postgres-nodes/${name}`, list], {
    env: {
      PATH: `${PGVECTOR_BINARIES}:${process.env.PATH}`,
      COORDINATOR: `host=127.0.0.1 port=${port} dbname=${database} user=${user}`,
      PGPASSWORD: password,
      NODE_PASSWORD: password,
      LOGIN: user ?? '',
      TABLE: 'kb',
      ...more,
    },
  })
  return exitCode === 0 ? null : stderr.toString()
}

/** Returns the statements that a node has received since the last call. */
async function logOf(node: TestServer): Promise<string> {
  const path = `current_setting('data_directory') || '/../log'`
  const [row] = await node.run(`SELECT pg_read_file(${path}) AS text`)
  const text = String(row?.text)
  const said = text.slice(seen.get(node) ?? 0)
  seen.set(node, text.length)
  return said
}
const seen = new Map<TestServer, number>()

describe.skipIf(servers === null)('chunks on three nodes', () => {
  let single: TestApp
  let one: TestApp
  let other: TestApp

  beforeAll(async () => {
    single = await eider()
    const storage = STORAGE.replace('"kb"', '"alone"')
    await must(single, `CREATE KNOWLEDGE_BASE kb USING ${storage}, language = 'english'`)
    one = await eider()
    await must(one, `CREATE KNOWLEDGE_BASE kb USING ${STORAGE}, language = 'english'`)
    other = await eider()
    await must(other, `CREATE KNOWLEDGE_BASE kb USING ${STORAGE}, attach = true`)
    for (const to of [single, one]) {
      const knowledge_base = { rows: corpus(300) }
      expect((await to.send('PUT', KB, { knowledge_base })).status).toBe(200)
    }
  }, 120_000)

  /** Returns the searches whose rows differ from those of one server. */
  async function differing(from: TestApp, all = sampleOf(searches(), 2)): Promise<string> {
    const different: string[] = []
    for (const search of all) {
      const [here, there] = [await single.rows(search), await from.rows(search)]
      if (!Bun.deepEquals(here, there))
        different.push(`${search}\n${JSON.stringify(here)}\n${JSON.stringify(there)}`)
    }
    return different.join('\n\n')
  }

  test('the script moves them while the knowledge base is in use', async () => {
    expect(script('spread.sh', nodes)).toBe(null)
    const counts = await Promise.all(
      nodes.map((node) => node.run('SELECT count(*)::int AS n FROM eider."kb:3"')),
    )
    const held = counts.map(([row]) => Number(row?.n))
    expect(held.reduce((sum, count) => sum + count, 0)).toBe(300)
    expect(Math.min(...held)).toBeGreaterThan(60)
    // By then, Eider knows the changes.
    await Bun.sleep(1500)
  }, 60_000)

  test('every search finds the rows that one server finds, in their order', async () => {
    expect(await differing(one)).toBe('')
    const liked = [`SELECT id FROM kb WHERE content = 'tea' AND kind LIKE 'gr%' LIMIT 9`]
    expect(await differing(other, liked)).toBe('')
  }, 120_000)

  test('the nodes filter, order and cut: few rows leave them', async () => {
    for (const node of nodes) await logOf(node)
    const conditions = `AND price < 30 AND kind = 'green' AND day >= '2024-03-01'`
    for (const [condition, pattern] of [
      [conditions, /WHERE .*as_bytes\(typed, '"kind"'.* ORDER BY \(vector OPERATOR\(public\.<=>\)/],
      ['AND price < 30', /as_bigint\(.* ORDER BY \(vector OPERATOR\(public\.<=>\) .* LIMIT 21/],
    ] as const) {
      await one.rows(`SELECT id FROM kb WHERE content = 'lemon' ${condition} LIMIT 5`)
      for (const node of nodes) expect(await logOf(node)).toMatch(pattern)
    }
    const keywords = `AND hybrid_search_alpha = 0`
    await one.rows(`SELECT id FROM kb WHERE content = 'lemon honey' ${keywords} LIMIT 5`)
    for (const node of nodes) {
      expect(await logOf(node)).toMatch(/WHERE \(\(terms && .* ORDER BY .* DESC/)
    }
    const plan = await coordinator?.run(`EXPLAIN (VERBOSE, COSTS OFF)
      (SELECT chunk_key FROM eider."kb:3:0" ORDER BY vector <=> (SELECT vector FROM eider.alone LIMIT 1) LIMIT 9)`)
    expect(JSON.stringify(plan)).toMatch(/Remote SQL: .*ORDER BY .*LIMIT/)
  })

  test('what one Eider writes, the other finds', async () => {
    for (const [to, from] of [
      [one, other],
      [other, one],
    ] as const) {
      const id = to === one ? 'x1' : 'x2'
      const put = { content: `kombucha ferments in ${id}`, metadata: { price: 3 } }
      for (const at of [to, single]) {
        expect((await at.send('PUT', `${KB}/documents/${id}`, put)).status).toBe(201)
        const patch = { metadata: { price: 4, kind: 'green' } }
        expect((await at.send('PATCH', `${KB}/documents/${id}`, patch)).status).toBe(200)
      }
      const search = `SELECT id, price FROM kb WHERE content = 'kombucha ferments in ${id}' LIMIT 1`
      expect(await from.rows(search)).toEqual([[id, 4]])
      const gone = `${KB}/documents/d${to === one ? 7 : 8}`
      for (const at of [to, single]) expect((await at.send('DELETE', gone)).status).toBe(204)
    }
    const read = async (at: TestApp) => (await at.send('GET', `${KB}/documents/x1`)).body
    expect(await read(other)).toEqual(await read(single))
    expect(await differing(other, searches().slice(0, 20))).toBe('')
  })

  test('statistics of terms are those of all nodes', async () => {
    const counted = `SELECT count(*)::int AS n FROM eider."kb:terms" AS t WHERE chunk_count <>
      (SELECT count(*) FROM eider.kb AS c WHERE c.terms @> ARRAY[t.term])`
    expect(await coordinator?.run(counted)).toEqual([{ n: 0 }])
  })

  test('an Eider with a copy has all of them', async () => {
    const copied = await eider()
    const storage = 'storage = {"database": "pg", "table": "kb"}, attach = true'
    await must(copied, `CREATE KNOWLEDGE_BASE kb USING ${storage}`)
    expect(await copied.rows('SELECT count(*) FROM kb')).toEqual([[300]])
    expect(await differing(copied, searches().slice(0, 20))).toBe('')
    await must(copied, 'DROP KNOWLEDGE_BASE kb')
  })

  test('rows of a write that failed between two nodes become part of it', async () => {
    const [row] =
      (await coordinator?.run(
        'SELECT next_chunk_key AS next FROM eider.knowledge_bases WHERE name = $$kb$$',
      )) ?? []
    const next = Number(row?.next)
    const columns = `document_id, chunk_id, content, metadata, typed, context, is_cut, layout, vector,
      terms, frequencies, term_count, language, revision`
    await coordinator?.run(`INSERT INTO eider.kb (chunk_key, ${columns})
      SELECT ${next}, 'half', 'half', ${columns.split(',').slice(2).join(', ')}
      FROM eider.kb WHERE document_id = 'x1'`)
    const search = `SELECT id FROM kb WHERE content = 'kombucha ferments in x1' LIMIT 3`
    const before = (await one.rows(search)).map(([id]) => id)
    expect(before).toContain('half')
    await must(one, `INSERT INTO kb (id, content) VALUES ('after', 'a later document')`)
    await must(one, `INSERT INTO kb (id, content) VALUES ('half', 'now a whole one')`)
    expect(await one.rows(`SELECT id FROM kb WHERE content = 'a later document' LIMIT 1`)).toEqual([
      ['after'],
    ])
    expect(await other.rows(`SELECT id FROM kb WHERE content = 'now a whole one' LIMIT 1`)).toEqual(
      [['half']],
    )
    const keys = 'SELECT count(*)::int AS n, count(DISTINCT chunk_key)::int AS keys FROM eider.kb'
    expect(await coordinator?.run(keys)).toEqual([{ n: 302, keys: 302 }])
    for (const id of ['half', 'after']) {
      expect((await one.send('DELETE', `${KB}/documents/${id}`)).status).toBe(204)
    }
  })

  /**
   * While node2 is down, a search finds the rows on the other nodes and says so, but only on
   * request.
   */
  async function expectPartial(at: TestApp, search: string): Promise<void> {
    const here = await Promise.all(
      [0, 2].map((index) => nodes[index]?.run('SELECT document_id AS id FROM eider."kb:3"')),
    )
    const ids = new Set(here.flatMap((rows) => rows?.map(({ id }) => id) ?? []))
    const every = search.replace('LIMIT 5', 'LIMIT 300')
    const known = (await single.rows(every)).flatMap(([id]) => (ids.has(id) ? [String(id)] : []))
    const partly = (sql: string) => sql.replace(' LIMIT', ' AND allow_partial = true LIMIT')
    const hybrid = search.replace(' LIMIT', ' AND hybrid_search = true LIMIT')
    const within = `WITH t AS (${partly(search)}) SELECT id FROM t JOIN (SELECT 1) ON true`
    for (const sql of [partly(search), within, partly(hybrid)]) {
      const { body, text } = await at.send('POST', '/api/sql/query', { query: sql })
      // The contract defines this form.
      const { data, warnings } = body as { data: readonly unknown[][]; warnings: readonly string[] }
      expect(text).toContain('node2')
      expect(warnings[0]).toStartWith('Partial results: 1 of 3 nodes were left out')
      const found = data.map(([id]) => id)
      if (sql === partly(hybrid)) expect(found.every((id) => ids.has(id))).toBe(true)
      else expect(found.toSorted()).toEqual(known.slice(0, 5).toSorted())
    }
    const asked = { query: 'green tea', k: 5, mode: 'vector', allow_partial: true }
    const { body } = await at.send('POST', `${KB}/search`, asked)
    const { results, warnings } = body as { results: { id: string }[]; warnings: string[] }
    expect([results.map(({ id }) => id), warnings.length]).toEqual([known.slice(0, 5), 1])
    expect(JSON.stringify(await at.rows(`EXPLAIN ${partly(search)}`))).toContain('Partial results')
  }

  test('a node that stops is named, and used again when it is back', async () => {
    const search = `SELECT id FROM kb WHERE content = 'green tea' LIMIT 5`
    const found = await one.rows(search)
    await nodes[1]?.down()
    for (const at of [one, other]) {
      const start = Date.now()
      expect(await run(at, search)).toContain('could not connect to server "node2"')
      expect(Date.now() - start).toBeLessThan(NODE_MS)
    }
    await expectPartial(one, search)
    const rows = corpus(20).map((row, index) => ({ ...row, id: `lost${index}` }))
    const put = await one.send('PUT', KB, { knowledge_base: { rows } })
    expect([put.status, put.text.includes('node2')]).toEqual([502, true])
    await nodes[1]?.up()
    expect(await one.rows(search)).toEqual(found)
    expect(await other.rows(search)).toEqual(found)
    expect(
      await other.rows(`SELECT id FROM kb WHERE content = 'tea' AND id = 'lost3' LIMIT 1`),
    ).toEqual([])
  }, 60_000)

  test('an index is made at the nodes by a script', async () => {
    const made = await run(one, 'CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = hnsw)')
    expect(made).toContain('deploy/postgres-nodes/index.sh')
    expect(script('index.sh', nodes)).toBe(null)
    await Bun.sleep(1500)
    const search = `SELECT id FROM kb WHERE content = 'green tea' AND price < 30 LIMIT 5`
    expect(JSON.stringify(await one.rows(`EXPLAIN ${search}`))).toContain('HNSW')
    expect(await differing(one, [search])).toBe('')
    expect(script('index.sh', nodes, { DROP: '1' })).toBe(null)
  }, 60_000)

  test('they move to another number of nodes', async () => {
    expect(script('spread.sh', nodes.slice(0, 2))).toBe(null)
    await Bun.sleep(1500)
    expect(await differing(one, searches().slice(0, 20))).toBe('')
    const left = await nodes[0]?.run(
      `SELECT to_regclass('eider."kb:3"') AS old, to_regclass('eider."kb:2"') AS now`,
    )
    expect(left).toEqual([{ old: null, now: '"kb:2"' }])
  }, 60_000)

  test('a table that holds rows already is left alone', () => {
    expect(script('spread.sh', nodes.slice(0, 2))).toContain('holds rows')
  })
})
