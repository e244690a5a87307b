/** A caller who may read only the data that an agent's `data` names. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { requireKnowledgeBase } from '../../src/core/domain/access/catalog-snapshot.ts'
import { AppError } from '../../src/core/errors.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { runSelect } from '../../src/query/select/run-select.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const HIDDEN = 'hidden-from-agents'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
  await write('CREATE PROJECT other')
  await write('CREATE KNOWLEDGE_BASE other.secret')
  await write(`INSERT INTO other.secret (id, content) VALUES ('1', '${HIDDEN}')`)
  await write(`CREATE TABLE hidden AS SELECT '${HIDDEN}' AS x`)
  await write('CREATE VIEW hidden_view AS SELECT x FROM hidden')
  await write('CREATE VIEW shown_view AS SELECT length(x) AS size FROM hidden')
  await write(`SET @hidden = '${HIDDEN}'`)
})
afterAll(() => fixture.close())

async function write(sql: string): Promise<void> {
  await runQuery({ sql, db: 'mindsdb', params: {} }, fixture.deps, new AbortController().signal)
}

async function narrowed(sql: string): Promise<string> {
  const snapshot = fixture.deps.catalog.snapshot()
  const knowledgeBases = [requireKnowledgeBase(snapshot, 'mindsdb', 'kb')]
  const allowed = { knowledgeBases, tables: ['files.t', 'mindsdb.shown_view', 'shop.allowed'] }
  const request = { sql, database: 'mindsdb', params: {}, allowed }
  const { batches } = await runSelect(request, fixture.deps, new AbortController().signal)
  const rows: unknown[] = []
  for await (const batch of batches) rows.push(...batch)
  return JSON.stringify(rows)
}

describe('what is allowed', () => {
  const CASES: readonly (readonly [string, string])[] = [
    ["SELECT id FROM kb WHERE content = '5' LIMIT 1", '[["d5"]]'],
    ["SELECT id FROM MindsDB.KB WHERE content = '5' LIMIT 1", '[["d5"]]'],
    ['SELECT count(*) FROM files.t JOIN kb USING (id)', '[[199]]'],
    ['SELECT size FROM shown_view', `[[${HIDDEN.length}]]`],
    ['WITH hidden AS (SELECT 1 AS x) SELECT x FROM hidden', '[[1]]'],
  ]
  for (const [sql, rows] of CASES) test(sql, async () => expect(await narrowed(sql)).toBe(rows))
})

test('a plan cached for a caller with more rights is not used', async () => {
  const sql = "SELECT id, chunk_content FROM other.secret WHERE content = '1' LIMIT 1"
  const { deps } = fixture
  for (let time = 0; time < 3; time += 1) {
    await runQuery({ sql, db: 'mindsdb', params: {} }, deps, new AbortController().signal)
    const failure = await narrowed(sql).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(AppError)
  }
})

describe("an agent's search", () => {
  const search = (options: string) => {
    return narrowed(`SELECT id, relevance FROM kb WHERE content = '5 7'${options} LIMIT 3`)
  }

  test('is by meaning and keywords, unless it says otherwise', async () => {
    expect(await search('')).toBe(await search(' AND hybrid_search = true'))
    expect(await search('')).not.toBe(await search(' AND hybrid_search = false'))
  })

  test('is semantic if the knowledge base is set to that', async () => {
    await write('ALTER KNOWLEDGE_BASE kb USING hybrid_search = false')
    expect(await search('')).toBe(await search(' AND hybrid_search = false'))
    await write('ALTER KNOWLEDGE_BASE kb USING hybrid_search = true')
    expect(await search('')).toBe(await search(' AND hybrid_search = true'))
  })
})

describe('refused', () => {
  for (const sql of [
    'SELECT * FROM other.secret',
    'SELECT * FROM OTHER."Secret"',
    "SELECT * FROM other.secret WHERE content = 'x'",
    'SELECT * FROM empty',
    'SELECT * FROM hidden',
    'SELECT * FROM mindsdb.hidden',
    'SELECT * FROM hidden_view',
    'TABLE hidden',
    'DESCRIBE hidden',
    'SUMMARIZE hidden',
    "SELECT answer FROM echo WHERE question = 'x'",
    'SELECT * FROM information_schema.tables',
    'SELECT * FROM information_schema.agents',
    'SELECT * FROM mindsdb.models',
    'SELECT * FROM kb UNION ALL SELECT * FROM other.secret',
    'SELECT (SELECT max(x) FROM hidden)',
    'SELECT id FROM kb WHERE id IN (SELECT x FROM hidden)',
    'SELECT k.id FROM kb k, LATERAL (SELECT x FROM hidden) h',
    'SELECT k.id FROM kb k JOIN hidden h ON k.content = h.x',
    'SELECT id FROM kb ORDER BY (SELECT x FROM hidden)',
    'SELECT count(*) FROM kb GROUP BY (SELECT x FROM hidden)',
    'SELECT id FROM kb LIMIT (SELECT count(*) FROM hidden)',
    'SELECT id FROM kb QUALIFY row_number() OVER (ORDER BY (SELECT x FROM hidden)) = 1',
    'WITH a AS (SELECT * FROM hidden) SELECT 1 FROM a',
    'WITH hidden AS (SELECT * FROM hidden) SELECT * FROM hidden',
    'WITH a AS (WITH hidden AS (SELECT 1 AS x) SELECT * FROM hidden) SELECT * FROM a, hidden',
    'WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT 2 FROM hidden) SELECT * FROM a',
    'PIVOT hidden ON x IN (1) USING count(*)',
    'UNPIVOT hidden ON x',
    'SELECT list_transform([1], i -> (SELECT max(x) FROM hidden))',
    'VALUES ((SELECT x FROM hidden))',
    'SELECT * FROM project_1.table_1',
    'SELECT * FROM uploaded.file_1',
    'SELECT @hidden',
    'SELECT $eider_variable_hidden',
    'SELECT :eider_variable_hidden',
    'SELECT id FROM kb WHERE content = @hidden',
  ]) {
    test(sql, async () => {
      const failure = await narrowed(sql).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(AppError)
      expect(String(failure)).not.toContain(HIDDEN)
      expect(failure).not.toHaveProperty('code', 'internal')
    })
  }
})

describe('remote databases', () => {
  beforeAll(async () => {
    const { dataSources } = fixture.deps
    await dataSources.createDataSource({ name: 'shop', engine: 'postgres', parameters: {} })
  })

  const REFUSED = [
    'SELECT * FROM shop.hidden',
    'SELECT * FROM shop.public.hidden',
    'SELECT * FROM shop (SELECT 1)',
    'SELECT * FROM files.t WHERE id IN (SELECT x FROM shop.hidden)',
  ]
  for (const sql of REFUSED) {
    test(`${sql}: the database is not even asked for its columns`, async () => {
      const failure = await narrowed(sql).catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'sql_forbidden' })
    })
  }

  test('a table that is named among what is allowed is read', async () => {
    const failure = await narrowed('SELECT * FROM Shop.Allowed').catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'source_failed' })
  })
})
