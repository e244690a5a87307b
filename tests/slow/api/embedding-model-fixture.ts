/** The whole product with a knowledge base `kb` whose embedding model is changed. */
import { expect } from 'bun:test'
import type { FakeModels } from '../../support/fake-models.ts'
import { rowsOf } from '../../support/store-fixture.ts'
import { createTestApp, type TestApp, type TestAppOptions } from '../../support/test-app.ts'

export const KBS = '/api/projects/mindsdb/knowledge_bases'

const opened: TestApp[] = []

/** Called after each test. */
export async function closeApps(): Promise<void> {
  for (const app of opened.splice(0)) await app.close()
}

export async function appOver(models: FakeModels, options: TestAppOptions = {}): Promise<TestApp> {
  const t = await createTestApp({ ...options, embedders: models.registry() })
  opened.push(t)
  return t
}

export const model = (name: string) => ({
  provider: 'openai',
  model_name: name,
  api_key: 'sk-hush',
})

export async function filled(t: TestApp, count = 30): Promise<void> {
  const create = { name: 'kb', embedding_model: model('old-3') }
  expect((await t.send('POST', KBS, { knowledge_base: create })).status).toBe(201)
  expect((await insert(t, numbered(1, count))).status).toBe(200)
}

export function numbered(from: number, count: number) {
  return Array.from({ length: count }, (_, index) => {
    return { id: `d${from + index}`, content: `text ${from + index}` }
  })
}

export function insert(t: TestApp, rows: readonly unknown[]) {
  return t.send('PUT', `${KBS}/kb`, { knowledge_base: { rows } })
}

export function alter(
  t: TestApp,
  embedding_model: Record<string, unknown>,
  others: Record<string, unknown> = {},
) {
  return t.send('PUT', `${KBS}/kb`, { knowledge_base: { embedding_model, ...others } })
}

export interface Shown {
  readonly embedding_model: { readonly model_name: string; readonly base_url?: string }
  readonly params: {
    readonly reembedding?: Readonly<Record<string, unknown>>
    readonly warnings?: unknown
  }
}

export async function shown(t: TestApp): Promise<Shown> {
  // The body has the form in docs/contract.md.
  return (await t.send('GET', `${KBS}/kb`)).body as Shown
}

/**
 * Waits until the record meets the condition. If it never does, the test's own time limit applies.
 */
export async function until(t: TestApp, isWanted: (kb: Shown) => boolean): Promise<Shown> {
  for (;;) {
    const kb = await shown(t)
    if (isWanted(kb)) return kb
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export const inForce = (name: string) => (kb: Shown) => {
  return kb.embedding_model.model_name === name && kb.params.reembedding === undefined
}

/** Returns the chunks nearest to a text, which are those with the nearest numbers. */
export async function nearest(t: TestApp, text: string): Promise<readonly unknown[]> {
  const rows = await t.rows(
    `SELECT chunk_content, distance FROM kb WHERE content = '${text}' LIMIT 3`,
  )
  expect(Number(rows[0]?.[1])).toBeCloseTo(0, 5)
  return rows.map(([content]) => content)
}

/**
 * Searching for a chunk's own text finds the chunk at distance 0, so its vector comes from the
 * current model.
 */
export async function expectAllFound(
  t: TestApp,
  texts: readonly string[],
  count = texts.length,
): Promise<void> {
  expect((await t.rows('SELECT count(*) FROM kb'))[0]).toEqual([count])
  for (const text of texts) expect((await nearest(t, text))[0]).toBe(text)
  expect(
    await t.rows("SELECT count(*) FROM kb WHERE content = 'text 1' AND distance >= 0"),
  ).toEqual([[count]])
}

export async function sql(t: TestApp, query: string): Promise<void> {
  const { body } = await t.send('POST', '/api/sql/query', { query })
  expect(body).not.toMatchObject({ type: 'error' })
}

/** Returns how many vector tables exist, in use or not. */
export async function vectorTables(t: TestApp): Promise<number> {
  const { store } = t
  const rows = await rowsOf(
    store,
    "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'kb%vectors%'",
  )
  return Number(rows[0]?.[0])
}
