import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../../src/core/domain/ports/model-ports.ts'
import type { ResultValue } from '../../../src/core/domain/query-result.ts'
import { AppError } from '../../../src/core/errors.ts'
import { runQuery } from '../../../src/query/run/run-query.ts'
import type { QueryDeps } from '../../../src/query/select/query-deps.ts'
import { numberVector, openSqlFixture, type SqlFixture } from '../../sql/sql-fixture.ts'

let fixture: SqlFixture
let deps: QueryDeps
/** The texts of each call of the embedder. */
let embedded: string[][]
/** Runs within each call of the embedder, before it answers. */
let meanwhile: (texts: readonly string[]) => Promise<void>

beforeEach(async () => {
  fixture = await openSqlFixture()
  embedded = []
  meanwhile = async () => {}
  const embedders: EmbedderRegistry = {
    ...fixture.deps.embedders,
    embedder: () => ({
      embed: async (texts) => {
        embedded.push([...texts])
        await meanwhile(texts)
        return texts.map(numberVector)
      },
    }),
  }
  deps = { ...fixture.deps, embedders }
  await run(`CREATE KNOWLEDGE_BASE n USING preprocessing =
    {"text_chunking_config": {"chunk_size": 10, "chunk_overlap": 0}}`)
})
afterEach(() => fixture.close())

async function run(sql: string, { params = {}, signal = new AbortController().signal } = {}) {
  const result = await runQuery({ sql, db: 'mindsdb', params }, deps, signal)
  return result.kind === 'ok' ? result.affectedRows : null
}

async function rows(sql: string): Promise<readonly (readonly ResultValue[])[]> {
  const request = { sql, db: 'mindsdb', params: {} }
  const result = await runQuery(request, deps, new AbortController().signal)
  const found: (readonly ResultValue[])[] = []
  if (result.kind === 'table') for await (const batch of result.rows.batches) found.push(...batch)
  return found
}

const LONG = 'aaaaaaaaa bbbbbbbbb ccccccccc'
const CHUNKS = 'SELECT chunk_id, chunk_content, p FROM n ORDER BY chunk_id'

test('metadata changes without embedding, in all chunks of a document', async () => {
  await run(`INSERT INTO n (id, content, p) VALUES ('a', '${LONG}', 1)`)
  embedded = []
  expect(await run("UPDATE n SET p = 2 WHERE id = 'a'")).toBe(3)
  expect(await rows('SELECT DISTINCT p FROM n')).toEqual([[2]])
  expect(embedded).toEqual([])
})

test('a new text of a document is cut, and only chunks that it did not have are embedded', async () => {
  await run(`INSERT INTO n (id, content, p) VALUES ('a', '${LONG}', 1)`)
  embedded = []
  expect(await run(`UPDATE n SET content = '${LONG} ddd', p = p + 1 WHERE id = 'a'`)).toBe(4)
  expect(embedded).toEqual([['ddd']])
  const stored = await rows(CHUNKS)
  expect(stored.map(([chunkId]) => String(chunkId).slice(0, 16))).toEqual([
    'a:content:1of4:0',
    'a:content:2of4:1',
    'a:content:3of4:2',
    'a:content:4of4:3',
  ])
  expect(stored.map(([, , p]) => p)).toEqual([2, 2, 2, 2])
})

test('a new text of a chunk is embedded whole, and only where it differs', async () => {
  await run(`INSERT INTO n (id, content, p) VALUES ('a', '${LONG}', 1)`)
  const [first, , third] = await rows(CHUNKS)
  embedded = []
  const text = `${first?.[1]}`
  const sql =
    "UPDATE n SET content = :text, p = 5 WHERE chunk_id = :id OR chunk_content LIKE 'ccc%'"
  expect(await run(sql, { params: { text, id: first?.[0] } })).toBe(2)
  expect(embedded).toEqual([[text]])
  const after = await rows(CHUNKS)
  expect(after[0]).toEqual([first?.[0] ?? '', text, 5])
  expect(after[2]).toEqual([third?.[0] ?? '', text, 5])
  const longer = { params: { text: 'x'.repeat(50), id: first?.[0] } }
  expect(await run('UPDATE n SET content = :text WHERE chunk_id = :id', longer)).toBe(1)
  expect((await rows(CHUNKS))[0]?.[1]).toBe('x'.repeat(50))
})

test('a document that is deleted while its new text is embedded stays deleted', async () => {
  await run("INSERT INTO n (id, content) VALUES ('a', 'text 1'), ('b', 'text 2')")
  meanwhile = async (texts) => {
    if (texts[0] === 'new') await run("DELETE FROM n WHERE id = 'a'")
  }
  expect(await run("UPDATE n SET content = 'new'")).toBe(1)
  expect(await rows('SELECT id, chunk_content FROM n')).toEqual([['b', 'new']])
})

test('metadata that is written while a new text is embedded stays', async () => {
  await run("INSERT INTO n (id, content, p) VALUES ('a', 'text 1', 1)")
  meanwhile = async (texts) => {
    if (texts[0] === 'new') await run("UPDATE n SET p = 2, q = 3 WHERE id = 'a'")
  }
  expect(await run("UPDATE n SET content = 'new', r = 4")).toBe(1)
  expect(await rows('SELECT chunk_content, p, q, r FROM n')).toEqual([['new', 2, 3, 4]])
})

test('a DELETE leaves alone what comes after it has looked', async () => {
  await run("INSERT INTO n (id, content) VALUES ('a', 'text 1'), ('b', 'text 2')")
  const { chunks } = deps
  const late = new Proxy(chunks, {
    get(target, name) {
      if (name !== 'removeChunks') return Reflect.get(target, name).bind(target)
      return async (...given: Parameters<typeof chunks.removeChunks>) => {
        await run("INSERT INTO n (id, content) VALUES ('a', 'text 3'), ('c', 'text 4')")
        return target.removeChunks(...given)
      }
    },
  })
  const request = { sql: 'DELETE FROM n', db: 'mindsdb', params: {} }
  const { signal } = new AbortController()
  const result = await runQuery(request, { ...deps, chunks: late }, signal)
  expect(result).toMatchObject({ kind: 'ok', affectedRows: 1 })
  expect(await rows('SELECT id, chunk_content FROM n ORDER BY id')).toEqual([
    ['a', 'text 3'],
    ['c', 'text 4'],
  ])
})

test('an embedder that fails leaves everything as it was', async () => {
  await run("INSERT INTO n (id, content, p) VALUES ('a', 'text 1', 1)")
  const before = await rows(CHUNKS)
  meanwhile = () => Promise.reject(new AppError('provider_failed', 'The server said 500'))
  const statements = [
    "UPDATE n SET content = 'new', p = 2",
    "UPDATE n SET content = 'new', p = 2 WHERE chunk_id != ''",
    "INSERT INTO n (id, content) VALUES ('a', 'new')",
  ]
  for (const sql of statements) await expect(run(sql)).rejects.toThrow('The server said 500')
  expect(await rows(CHUNKS)).toEqual(before)
})

test('a statement that is given up writes nothing', async () => {
  await run("INSERT INTO n (id, content, p) VALUES ('a', 'text 1', 1)")
  const reason = new AppError('cancelled', 'The client went away')
  const statements = [
    "UPDATE n SET content = 'new'",
    "INSERT INTO n (id, content) VALUES ('b', 'x')",
  ]
  for (const sql of statements) {
    const controller = new AbortController()
    meanwhile = async () => {
      controller.abort(reason)
      controller.signal.throwIfAborted()
    }
    await expect(run(sql, { signal: controller.signal })).rejects.toBe(reason)
  }
  expect(await rows('SELECT id, chunk_content FROM n')).toEqual([['a', 'text 1']])
})

test("error = 'skip' goes on after a batch that failed, but not without its knowledge base", async () => {
  meanwhile = async (texts) => {
    if (texts.includes('text 3')) throw new AppError('provider_failed', 'The server said 500')
  }
  const sql = `INSERT INTO n SELECT id, 'text ' || a AS content FROM files.t WHERE a BETWEEN 1 AND 6
    USING error = 'skip', batch_size = 2`
  expect(await run(sql)).toBe(4)
  expect(await rows('SELECT id FROM n ORDER BY id')).toEqual([['d1'], ['d2'], ['d5'], ['d6']])
  meanwhile = async () => void (await run('DROP KNOWLEDGE_BASE n'))
  await expect(run(sql)).rejects.toMatchObject({ code: 'knowledge_base_not_found' })
  expect(embedded.length).toBeLessThan(6)
})

test('what is stored is not embedded again with kb_skip_existing', async () => {
  await run("INSERT INTO n (id, content) VALUES ('a', 'text 1')")
  embedded = []
  const sql =
    "INSERT INTO n (id, content) VALUES ('a', 'text 2'), ('b', 'text 3') USING kb_skip_existing = true"
  expect(await run(sql)).toBe(1)
  expect(embedded).toEqual([['text 3']])
})
