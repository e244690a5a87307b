import { expect, test } from 'bun:test'
import { chunkTables, withNextKeywords } from '../../src/core/domain/document.ts'
import { TERM_RULES_VERSION } from '../../src/core/text/words.ts'
import { MIGRATIONS } from '../../src/store/catalog/migrate.ts'
import { current, rowsOf, temporaryFolder } from '../support/store-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KB = '/api/projects/mindsdb/knowledge_bases/kb'

interface Found {
  readonly ids: readonly string[]
  readonly warnings: readonly string[]
}

async function search(t: TestApp, query: string): Promise<Found> {
  const { body } = await t.send('POST', `${KB}/search`, { query, mode: 'keyword' })
  const { results, warnings = [] } = body as { results: { id: string }[]; warnings?: string[] }
  return { ids: results.map(({ id }) => id).sort(), warnings }
}

async function put(t: TestApp, rows: readonly { id: string; content: string }[]): Promise<void> {
  const answer = await t.send('PUT', KB, { knowledge_base: { rows } })
  expect(answer.status).toBe(200)
}

async function params(t: TestApp): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await t.send('GET', KB)
  return (body as { params: Record<string, unknown> }).params
}

/**
 * A folder whose keyword index was built with older term rules, as an earlier version created it.
 */
async function olderFolder(path: string) {
  const t = await createTestApp({ isInProcess: true, directory: path })
  const created = { knowledge_base: { name: 'kb', language: 'english' } }
  await t.send('POST', '/api/projects/mindsdb/knowledge_bases', created)
  const rows = Array.from({ length: 450 }, (_, index) => {
    return { id: `r${index}`, content: `number n${index} of the teas` }
  })
  await put(t, rows)
  const { recentPostings, termCounts } = chunkTables(current(t.store))
  await t.close()
  const sql = `UPDATE ${recentPostings} SET term = term + 1;
    COMMENT ON TABLE ${termCounts} IS 'term rules 0'`
  return [...MIGRATIONS, { number: MIGRATIONS.length + 1, name: 'older', sql }]
}

test('a folder from an earlier version answers at once, says so, and is then updated', async () => {
  using folder = temporaryFolder()
  const migrations = await olderFolder(folder.path)
  const t = await createTestApp({ isInProcess: true, directory: folder.path, migrations })
  const before = await search(t, 'n7')
  expect(before.ids).toEqual([])
  expect(before.warnings.join()).toContain(
    'The keyword index of kb is being rebuilt after an upgrade',
  )
  const sql = await t.send('POST', '/api/sql/query', {
    query: "SELECT id FROM kb WHERE content = 'n7' AND hybrid_search = true LIMIT 1",
  })
  expect(JSON.stringify(sql.body)).toContain('is being rebuilt after an upgrade')
  const plain = await t.send('POST', `${KB}/search`, { query: 'n7', mode: 'vector' })
  expect(JSON.stringify(plain.body)).not.toContain('rebuilt after an upgrade')
  expect(await params(t)).toMatchObject({
    keyword_index: { language: 'english', next_language: 'english' },
  })
  // Its own writes are found before, during and after the change.
  await put(t, [{ id: 'new', content: 'n7 again' }])
  expect((await search(t, 'n7')).ids).toEqual(['new'])
  t.store.keywordLanguages.start()
  await Promise.all([
    put(t, [{ id: 'r8', content: 'n7 for the third time' }]),
    t.send('POST', '/api/sql/query', { query: "DELETE FROM kb WHERE id = 'r9'" }),
  ])
  await t.store.keywordLanguages.settled()
  expect(await search(t, 'n7')).toEqual({ ids: ['new', 'r7', 'r8'], warnings: [] })
  expect((await search(t, 'n8')).ids).toEqual([])
  expect((await search(t, 'n9')).ids).toEqual([])
  expect((await params(t)).keyword_index).toBeUndefined()
  expect((await params(t)).warnings).toBeUndefined()
  await t.close()
})

test('an index left half-built by a crash is completed, or dropped with its knowledge base', async () => {
  using folder = temporaryFolder()
  const migrations = await olderFolder(folder.path)
  const kb = current((await createClosed(folder.path, migrations)).store)
  const { postings, recentPostings, termCounts } = chunkTables(withNextKeywords(kb))
  const { chunks } = chunkTables(kb)
  // This simulates that the first chunks were read and one has been removed since.
  const half = `CREATE TABLE ${postings} (term BIGINT, chunk_key BIGINT, frequency INTEGER, term_count INTEGER);
    CREATE TABLE ${recentPostings} (term BIGINT, chunk_key BIGINT, frequency INTEGER, term_count INTEGER);
    CREATE TABLE ${termCounts} (chunk_key BIGINT, term_count INTEGER);
    INSERT INTO ${recentPostings} SELECT 7, chunk_key, 1, 1 FROM ${chunks} WHERE chunk_key < 100;
    INSERT INTO ${termCounts} SELECT chunk_key, 1 FROM ${chunks} WHERE chunk_key < 100;
    INSERT INTO ${termCounts} VALUES (-1, 1);
    COMMENT ON TABLE ${termCounts} IS 'term rules ${TERM_RULES_VERSION}';
    COMMENT ON TABLE ${recentPostings} IS 'language english'`
  const more = { number: MIGRATIONS.length + 2, name: 'half', sql: half }
  const t = await createTestApp({
    isInProcess: true,
    directory: folder.path,
    migrations: [...migrations, more],
  })
  t.store.keywordLanguages.start()
  await t.store.keywordLanguages.settled()
  expect((await search(t, 'n7')).ids).toEqual([])
  expect((await search(t, 'n400')).ids).toEqual(['r400'])
  const known = chunkTables(current(t.store))
  expect(
    await rowsOf(
      t.store,
      `SELECT (SELECT count(*) FROM ${known.termCounts}), (SELECT count(*) FROM ${known.postings} WHERE term = 7)`,
    ),
  ).toEqual([[450, 99]])
  await t.send('DELETE', KB)
  const left = "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'kb%'"
  expect(await rowsOf(t.store, left)).toEqual([[0]])
  await t.close()
})

async function createClosed(directory: string, migrations: typeof MIGRATIONS) {
  const t = await createTestApp({ isInProcess: true, directory, migrations })
  await t.close()
  return t
}
