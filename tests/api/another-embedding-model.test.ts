import { afterEach, describe, expect, test } from 'bun:test'
import { AppError } from '../../src/errors.ts'
import { rowsOf, temporaryFolder } from '../store/store-fixture.ts'
import { FakeModels } from '../support/fake-models.ts'
import { createTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const opened: TestApp[] = []
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close()
})

async function appOver(models: FakeModels, options: TestAppOptions = {}): Promise<TestApp> {
  const t = await createTestApp({ ...options, embedders: models.registry() })
  opened.push(t)
  return t
}

const model = (name: string) => ({ provider: 'openai', model_name: name, api_key: 'sk-hush' })

async function filled(t: TestApp, count = 30): Promise<void> {
  const create = { name: 'kb', embedding_model: model('old-3') }
  expect((await t.send('POST', KBS, { knowledge_base: create })).status).toBe(201)
  expect((await insert(t, numbered(1, count))).status).toBe(200)
}

function numbered(from: number, count: number) {
  return Array.from({ length: count }, (_, index) => {
    return { id: `d${from + index}`, content: `text ${from + index}` }
  })
}

function insert(t: TestApp, rows: readonly unknown[]) {
  return t.send('PUT', `${KBS}/kb`, { knowledge_base: { rows } })
}

function alter(
  t: TestApp,
  embedding_model: Record<string, unknown>,
  others: Record<string, unknown> = {},
) {
  return t.send('PUT', `${KBS}/kb`, { knowledge_base: { embedding_model, ...others } })
}

interface Shown {
  readonly embedding_model: { readonly model_name: string; readonly base_url?: string }
  readonly params: {
    readonly reembedding?: Readonly<Record<string, unknown>>
    readonly warnings?: unknown
  }
}

async function shown(t: TestApp): Promise<Shown> {
  // The body's form is that of api.md.
  return (await t.send('GET', `${KBS}/kb`)).body as Shown
}

/** Until the record is as wanted; the test's own deadline ends a wait in vain. */
async function until(t: TestApp, isWanted: (kb: Shown) => boolean): Promise<Shown> {
  for (;;) {
    const kb = await shown(t)
    if (isWanted(kb)) return kb
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const inForce = (name: string) => (kb: Shown) => {
  return kb.embedding_model.model_name === name && kb.params.reembedding === undefined
}

/** The nearest to a text first: with angles, those of the nearest numbers. */
async function nearest(t: TestApp, text: string): Promise<readonly unknown[]> {
  const rows = await t.rows(
    `SELECT chunk_content, distance FROM kb WHERE content = '${text}' LIMIT 3`,
  )
  expect(Number(rows[0]?.[1])).toBeCloseTo(0, 5)
  return rows.map(([content]) => content)
}

/** Each chunk is found at no distance by its own text: its vector is of the model in force. */
async function expectAllFound(
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

describe.each(['new-5', 'new-3'])('another model, %s', (next) => {
  test('takes over when all chunks are embedded, whatever is written meanwhile', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold(next)
    expect((await alter(t, model(next))).status).toBe(200)
    await held.reached
    const during = await shown(t)
    expect(during.embedding_model.model_name).toBe('old-3')
    expect(during.params.reembedding).toEqual({
      provider: 'openai',
      model_name: next,
      done: 0,
      total: 30,
    })
    expect(await nearest(t, 'text 7')).toContain('text 7')
    expect((await insert(t, numbered(31, 10))).status).toBe(200)
    await sql(t, "DELETE FROM kb WHERE id = 'd3'")
    await sql(t, "UPDATE kb SET content = 'text 99' WHERE id = 'd4'")
    held.letGo()
    await until(t, inForce(next))
    const numbers = [...Array.from({ length: 40 }, (_, index) => index + 1), 99]
    const texts = numbers.filter((n) => n !== 3 && n !== 4).map((n) => `text ${n}`)
    await expectAllFound(t, texts)
    expect((await insert(t, [{ id: 'last', content: 'text 120' }])).status).toBe(200)
    await expectAllFound(t, [...texts, 'text 120'])
    expect(JSON.stringify(await shown(t))).not.toContain('sk-hush')
  })

  test('takes over while an insert is being embedded: it is embedded anew', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('old-3')
    const inserted = insert(t, numbered(31, 5))
    await held.reached
    await alter(t, model(next))
    await until(t, inForce(next))
    held.letGo()
    expect((await inserted).status).toBe(200)
    await expectAllFound(
      t,
      numbered(1, 35).map(({ content }) => content),
    )
  })

  test('takes over between the plan of a search and its run: it is planned again', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('old-3')
    const found = nearest(t, 'text 12')
    await held.reached
    await alter(t, model(next))
    await until(t, inForce(next))
    held.letGo()
    expect((await found)[0]).toBe('text 12')
  })
})

describe('a change that is under way', () => {
  test('goes on after a restart with what is missing', async () => {
    using folder = temporaryFolder()
    const models = new FakeModels()
    const before = await createTestApp({ directory: folder.path, embedders: models.registry() })
    await filled(before, 450)
    await before.rows('SELECT count(*) FROM kb')
    const held = models.hold('new-5', 1)
    await alter(before, model('new-5'))
    await held.reached
    expect((await shown(before)).params.reembedding).toMatchObject({ done: 200, total: 450 })
    await before.close()
    held.letGo()
    const after = await appOver(models, { directory: folder.path })
    expect((await shown(after)).params.reembedding).toEqual({
      provider: 'openai',
      model_name: 'new-5',
    })
    after.app.start()
    await until(after, inForce('new-5'))
    expect(models.asked.get('new-5')?.filter((text) => text.startsWith('text'))).toHaveLength(450)
    expect((await after.rows('SELECT count(*) FROM kb'))[0]).toEqual([450])
    expect((await nearest(after, 'text 100'))[0]).toBe('text 100')
  })

  test('ends when the model in force is named again', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    expect((await alter(t, model('old-3'))).status).toBe(200)
    held.letGo()
    expect(await until(t, inForce('old-3'))).toBeDefined()
    expect((await nearest(t, 'text 8'))[0]).toBe('text 8')
    expect(await vectorTables(t)).toBe(1)
    await alter(t, model('new-3'))
    await until(t, inForce('new-3'))
    expect((await nearest(t, 'text 8'))[0]).toBe('text 8')
  })

  test('is not touched by another key for the model in force', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    expect((await alter(t, { api_key: 'sk-other' })).status).toBe(200)
    expect((await shown(t)).params.reembedding).toMatchObject({ model_name: 'new-5' })
    held.letGo()
    await until(t, inForce('new-5'))
    expect((await nearest(t, 'text 8'))[0]).toBe('text 8')
  })

  test('gives way to a third model', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    await alter(t, model('newer-5'))
    held.letGo()
    await until(t, inForce('newer-5'))
    for (const text of ['text 1', 'text 200', 'text 250']) {
      expect((await nearest(t, text))[0]).toBe(text)
    }
    expect(await vectorTables(t)).toBe(1)
  })

  test.each([
    ['the knowledge base', `DROP KNOWLEDGE_BASE kb`],
    ['its project', 'DROP PROJECT other'],
  ])('goes with %s', async (what, drop) => {
    const models = new FakeModels()
    const t = await appOver(models)
    const project = what === 'its project' ? 'other' : 'mindsdb'
    await sql(t, 'CREATE PROJECT other')
    await sql(
      t,
      `CREATE KNOWLEDGE_BASE ${project}.kb USING embedding_model = ${JSON.stringify(model('old-3'))}`,
    )
    for (let from = 1; from <= 201; from += 100) {
      const values = numbered(from, 100).map(({ id, content }) => `('${id}', '${content}')`)
      await sql(t, `INSERT INTO ${project}.kb (id, content) VALUES ${values.join(', ')}`)
    }
    const held = models.hold('new-5', 1)
    await sql(
      t,
      `ALTER KNOWLEDGE_BASE ${project}.kb USING embedding_model = ${JSON.stringify(model('new-5'))}`,
    )
    await held.reached
    await sql(t, drop)
    held.letGo()
    expect(await vectorTables(t)).toBe(0)
    await sql(
      t,
      `CREATE KNOWLEDGE_BASE kb USING embedding_model = ${JSON.stringify(model('new-5'))}`,
    )
    expect((await shown(t)).params.reembedding).toBeUndefined()
  })

  test('is shown by DESCRIBE, without a secret', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('new-5')
    await sql(
      t,
      `ALTER KNOWLEDGE_BASE kb USING embedding_model = ${JSON.stringify(model('new-5'))}`,
    )
    await held.reached
    const described = JSON.stringify(await t.rows('DESCRIBE KNOWLEDGE_BASE kb'))
    const wanted = '"reembedding":{"provider":"openai","model_name":"new-5","done":0,"total":30}'
    expect(described).toContain(JSON.stringify(wanted).slice(1, -1))
    expect(described).not.toContain('sk-hush')
    const all = JSON.stringify(await t.rows('SELECT * FROM information_schema.knowledge_bases'))
    expect(all).toContain('new-5')
    expect(all).not.toContain('sk-hush')
    // A client that saves what it read changes nothing.
    const { params } = await shown(t)
    expect((await t.send('PUT', `${KBS}/kb`, { knowledge_base: { params } })).status).toBe(200)
    held.letGo()
    await until(t, inForce('new-5'))
  })
})

describe('what is refused changes nothing', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, number, string[]]>([
    ['a model that refuses', model('bad-7'), {}, 400, ['no such model']],
    ['a model out of reach', model('far-7'), {}, 502, ['it slept', 'keeps its model']],
    [
      'vectors of another length than asked for',
      { ...model('new-5'), dimensions: 8 },
      {},
      400,
      ['5', '8'],
    ],
    [
      'vectors of another length than vector_size',
      model('new-5'),
      { vector_size: 9 },
      400,
      ['5', '9'],
    ],
  ])('%s', async (_, embedding_model, others, status, words) => {
    const models = new FakeModels()
    models.failing.set('bad-7', new AppError('provider_refused', 'no such model'))
    models.unreachable.add('far-7')
    const t = await appOver(models)
    await filled(t)
    const before = await shown(t)
    const refused = await alter(t, embedding_model, others)
    expect(refused.status).toBe(status)
    for (const word of words) expect(refused.text).toContain(word)
    expect(await shown(t)).toEqual(before)
    expect((await nearest(t, 'text 5'))[0]).toBe('text 5')
  })

  test('the same model, whose vectors have another length at the new address', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    models.lengths.set('old-3', 4)
    const refused = await alter(t, { base_url: 'http://elsewhere.test/v1', api_key: 'sk-2' })
    expect([refused.status, refused.text.includes('gives 4, kb holds 3')]).toEqual([400, true])
    expect((await shown(t)).embedding_model.base_url).toBeUndefined()
  })
})

describe('without chunks another model is in force at once', () => {
  test('and its vectors have their own length', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    await sql(t, 'DELETE FROM kb')
    await alter(t, model('new-5'))
    expect(inForce('new-5')(await shown(t))).toBe(true)
    await insert(t, numbered(1, 3))
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })

  test('also one that cannot be reached, with a warning', async () => {
    const models = new FakeModels()
    models.unreachable.add('far-7')
    const t = await appOver(models)
    await t.send('POST', KBS, { knowledge_base: { name: 'kb', embedding_model: model('old-3') } })
    expect((await alter(t, model('far-7'))).status).toBe(200)
    expect((await shown(t)).params.warnings).toEqual([expect.stringContaining('it slept')])
    await insert(t, numbered(1, 3))
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })

  test('an insert that is under way is embedded anew', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await t.send('POST', KBS, { knowledge_base: { name: 'kb', embedding_model: model('old-3') } })
    const held = models.hold('old-3')
    const inserted = insert(t, numbered(1, 3))
    await held.reached
    await alter(t, model('new-3'))
    held.letGo()
    expect((await inserted).status).toBe(200)
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })

  test('when they go while it takes over', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    await sql(t, 'DELETE FROM kb')
    await alter(t, model('newer-4'))
    expect(inForce('newer-4')(await shown(t))).toBe(true)
    held.letGo()
    await insert(t, numbered(1, 3))
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })
})

describe('UPDATE', () => {
  test.each([
    ['of a document', "UPDATE kb SET content = 'text 77' WHERE id = 'd2'"],
    ['of a chunk', "UPDATE kb SET content = 'text 77' WHERE chunk_id = 'd2:content:1of1:0to6'"],
  ])('%s that another model overtakes is embedded anew', async (_, statement) => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('old-3')
    const updated = sql(t, statement)
    await held.reached
    await alter(t, model('new-3'))
    await until(t, inForce('new-3'))
    held.letGo()
    await updated
    await expectAllFound(t, ['text 77', ...[1, 3, 4, 30].map((n) => `text ${n}`)], 30)
  })
})

async function sql(t: TestApp, query: string): Promise<void> {
  const { body } = await t.send('POST', '/api/sql/query', { query })
  expect(body).not.toMatchObject({ type: 'error' })
}

/** How many there are, in force or not. */
async function vectorTables(t: TestApp): Promise<number> {
  const { store } = t
  const rows = await rowsOf(
    store,
    "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'kb%vectors%'",
  )
  return Number(rows[0]?.[0])
}
