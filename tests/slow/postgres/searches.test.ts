/**
 * Searches that run in PostgreSQL, for a knowledge base without a copy here, give the same ids in
 * the same order as the embedded store.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { connection, KB, meaninglessEmbedders, must, postgresApps, run } from './apps.ts'
import { corpus, MODES, searches } from './corpus.ts'

const { server, app, connected, sql, close } = await postgresApps()
const STORAGE = 'storage = {"database": "pg", "table": "kb", "copy": false}'

afterAll(close)

describe.skipIf(server === null)('searches in PostgreSQL', () => {
  let embedded: TestApp
  let remote: TestApp

  beforeAll(async () => {
    embedded = await app()
    remote = await connected()
    await must(embedded, `CREATE KNOWLEDGE_BASE kb USING language = 'english'`)
    await must(remote, `CREATE KNOWLEDGE_BASE kb USING ${STORAGE}`)
    const knowledge_base = { rows: corpus(300) }
    for (const one of [embedded, remote]) {
      expect((await one.send('PUT', KB, { knowledge_base })).status).toBe(200)
    }
  }, 120_000)

  test('give the same rows in the same order as the embedded store', async () => {
    const differing: string[] = []
    for (const search of searches()) {
      const [here, there] = [await embedded.rows(search), await remote.rows(search)]
      if (!Bun.deepEquals(here, there))
        differing.push(`${search}\n${JSON.stringify(here)}\n${JSON.stringify(there)}`)
    }
    expect(differing.join('\n\n')).toBe('')
  }, 120_000)

  test('with distances and relevances that differ by rounding only', async () => {
    for (const mode of MODES) {
      const search = `SELECT id, distance, relevance FROM kb WHERE content = 'green tea' ${mode} LIMIT 9`
      const [here, there] = [await embedded.rows(search), await remote.rows(search)]
      for (const [index, [, distance, relevance]] of here.entries()) {
        expect(Number(there[index]?.[1])).toBeCloseTo(Number(distance), 5)
        expect(Number(there[index]?.[2])).toBeCloseTo(Number(relevance), 5)
      }
    }
  })

  test('are parts of larger statements, as far as they are bounded', async () => {
    const near = `SELECT id, kind, price FROM kb WHERE content = 'jasmine honey' LIMIT 20`
    const statement = `WITH near AS (${near}) SELECT kind, count(*), sum(price) FROM near GROUP BY kind ORDER BY kind`
    expect(await remote.rows(statement)).toEqual(await embedded.rows(statement))
    const { body } = await remote.send('POST', `${KB}/search`, { query: 'green tea', k: 5 })
    const { body: own } = await embedded.send('POST', `${KB}/search`, {
      query: 'green tea',
      k: 5,
    })
    const ids = (found: unknown) =>
      (found as { results: { id: string }[] }).results.map(({ id }) => id)
    expect(ids(body)).toEqual(ids(own))
  })

  test('documents are replaced, changed, read and removed without a copy', async () => {
    for (const one of [embedded, remote]) {
      const put = { content: 'Genmaicha with roasted rice', metadata: { price: 3 } }
      expect((await one.send('PUT', `${KB}/documents/d1`, put)).status).toBe(200)
      const patch = { metadata: { price: 4, kind: 'green' } }
      expect((await one.send('PATCH', `${KB}/documents/d1`, patch)).status).toBe(200)
      expect((await one.send('DELETE', `${KB}/documents/d2`)).status).toBe(204)
    }
    const read = async (one: TestApp) => (await one.send('GET', `${KB}/documents/d1`)).body
    expect(await read(remote)).toEqual(await read(embedded))
    const search = `SELECT id, price FROM kb WHERE content = 'genmaicha' LIMIT 3`
    expect(await remote.rows(search)).toEqual(await embedded.rows(search))
    const [stored] = await sql('SELECT count(*)::int AS n FROM eider.kb')
    expect(stored?.n).toBe(299)
  })

  test('another Eider finds at once what was written', async () => {
    const other = await connected()
    await must(other, `CREATE KNOWLEDGE_BASE kb USING ${STORAGE}, attach = true`)
    await must(other, `INSERT INTO kb (id, content) VALUES ('new', 'kombucha ferments')`)
    const search = `SELECT id FROM kb WHERE content = 'kombucha ferments' LIMIT 1`
    expect(await remote.rows(search)).toEqual([['new']])
    expect(await other.rows(search)).toEqual([['new']])
  })

  test('a copy under another name on the same server has all rows', async () => {
    const storage = 'storage = {"database": "pg", "table": "kb"}'
    await must(remote, `CREATE KNOWLEDGE_BASE copied USING ${storage}, attach = true`)
    expect(await remote.rows('SELECT count(*) FROM copied')).toEqual([[300]])
    await must(remote, 'DROP KNOWLEDGE_BASE copied')
    expect(await remote.rows(`SELECT id FROM kb WHERE content = 'tea' LIMIT 1`)).toHaveLength(1)
    expect((await remote.send('GET', `${KB}/map`)).text).toContain('copy')
  })

  test('what needs all rows says so, and what to do', async () => {
    for (const statement of [
      'SELECT count(*) FROM kb',
      `SELECT kind, count(*) FROM kb GROUP BY kind`,
      `UPDATE kb SET price = 1 WHERE id = 'd3'`,
      `DELETE FROM kb WHERE price > 3`,
      'CREATE TABLE all_of_it AS SELECT id FROM kb',
      `SELECT id FROM kb WHERE content = '"green tea"' AND hybrid_search = true LIMIT 3`,
    ]) {
      expect([statement, await run(remote, statement)]).toEqual([
        statement,
        expect.stringContaining('copy'),
      ])
    }
    const odd = `SELECT id FROM kb WHERE content = 'tea' AND length(kind) = 5 LIMIT 3`
    expect(await run(remote, odd)).toContain('compare columns with values')
    expect((await remote.send('GET', `${KB}/documents`)).text).toContain('copy')
  })

  // A million chunks need more than the ten minutes of other work.
  test('creating an index in PostgreSQL may take hours', async () => {
    await sql(`
      CREATE TABLE public.allowed (ms text);
      CREATE FUNCTION note_allowed() RETURNS event_trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.allowed VALUES (current_setting('statement_timeout')); END $$;
      CREATE EVENT TRIGGER note_allowed ON ddl_command_start WHEN TAG IN ('CREATE INDEX')
        EXECUTE FUNCTION note_allowed()`)
    try {
      await must(remote, 'CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = hnsw)')
      await must(remote, 'DROP INDEX ON KNOWLEDGE_BASE kb')
    } finally {
      await sql('DROP EVENT TRIGGER note_allowed')
    }
    const [allowed] = await sql(
      `SELECT extract(epoch FROM ms::interval) / 3600 AS hours FROM public.allowed`,
    )
    expect(Number(allowed?.hours)).toBeGreaterThan(10)
  })

  test('an HNSW index in PostgreSQL answers, and its EXPLAIN says so', async () => {
    const search = `SELECT id FROM kb WHERE content = 'green tea' AND price < 30 LIMIT 5`
    const exact = await remote.rows(search)
    expect(JSON.stringify(await remote.rows(`EXPLAIN ${search}`))).toContain(
      'which measures all vectors',
    )
    await must(remote, 'CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = hnsw)')
    expect(JSON.stringify(await remote.rows(`EXPLAIN ${search}`))).toContain('HNSW')
    expect(await remote.rows(search)).toEqual(exact)
    await must(remote, 'DROP INDEX ON KNOWLEDGE_BASE kb')
    const left = await sql(`SELECT to_regclass('eider."kb:hnsw"') AS found`)
    expect(left).toEqual([{ found: null }])
  })

  // pgvector's HNSW takes up to 2,000 whole numbers.
  test('an HNSW index of long vectors orders them in half precision', async () => {
    await sql('ALTER DATABASE shop SET enable_seqscan = off')
    const embedders = meaninglessEmbedders(3072)
    const environment = { EIDER_NETWORK_ALLOW: '127.0.0.1' }
    const [long, own] = await Promise.all([
      createTestApp({ environment, embedders }),
      createTestApp({ embedders }),
    ])
    await must(long, connection(server?.parameters ?? {}))
    const storage = 'storage = {"database": "pg", "table": "long", "copy": false}'
    await must(long, `CREATE KNOWLEDGE_BASE kb USING ${storage}, language = 'english'`)
    await must(own, `CREATE KNOWLEDGE_BASE kb USING language = 'english'`)
    const knowledge_base = { rows: corpus(200) }
    for (const one of [long, own]) {
      expect((await one.send('PUT', KB, { knowledge_base })).status).toBe(200)
    }
    await must(long, 'CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = hnsw)')
    for (const mode of MODES) {
      const search = `SELECT id FROM kb WHERE content = 'green tea' ${mode} AND price < 40 LIMIT 5`
      expect(await long.rows(search)).toEqual(await own.rows(search))
    }
    // PostgreSQL counts with a delay.
    const counted = `SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'long:hnsw'`
    const scans = async () => Number((await sql(counted))[0]?.idx_scan)
    while ((await scans()) === 0) await Bun.sleep(200)
    await long.close()
    await own.close()
  }, 120_000)

  test('an index of longer vectors is refused with what to do', async () => {
    const environment = { EIDER_NETWORK_ALLOW: '127.0.0.1' }
    const longer = await createTestApp({ environment, embedders: meaninglessEmbedders(4001) })
    await must(longer, connection(server?.parameters ?? {}))
    const storage = 'storage = {"database": "pg", "table": "longer", "copy": false}'
    await must(longer, `CREATE KNOWLEDGE_BASE kb USING ${storage}, language = 'english'`)
    await must(longer, `INSERT INTO kb (id, content) VALUES ('sencha', 'green tea')`)
    const refused = await run(longer, 'CREATE INDEX ON KNOWLEDGE_BASE kb WITH (type = hnsw)')
    expect(refused).toContain('at most 4000 dimensions, and these vectors have 4001; without an')
    expect(await longer.rows(`SELECT id FROM kb WHERE content = 'tea' LIMIT 1`)).toEqual([
      ['sencha'],
    ])
    await longer.close()
  })
})
