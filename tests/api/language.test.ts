import { expect, test } from 'bun:test'
import { temporaryFolder } from '../support/store-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const GERMAN = [
  'Der grüne Tee ist ein Getränk, das in Asien und in der ganzen Welt sehr beliebt ist.',
  'Er wird aus den Blättern der Teepflanze gemacht, die nicht fermentiert werden.',
  'Die Häuser in dem Dorf sind aus Holz, und der Weg zu den Gärten ist mit Steinen belegt.',
]

const ENGLISH = [
  'The apartment is on the second floor of a house in the old town, and it is quiet at night.',
  'Rent is due on the first day of each month, and the deposit is held by the bank.',
  'It was agreed that the landlord repairs the roof, the boiler and the pipes for the water.',
  'Tenants of this house are not allowed to keep pets, which is written in the contract.',
]

async function params(t: TestApp, name = 'kb'): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await t.send('GET', `${KBS}/${name}`)
  return (body as { params: Record<string, unknown> }).params
}

async function found(t: TestApp, query: string): Promise<readonly string[]> {
  const { body } = await t.send('POST', `${KBS}/kb/search`, { query, mode: 'keyword' })
  return (body as { results: { id: string }[] }).results.map(({ id }) => id).sort()
}

async function create(t: TestApp, fields: object = {}): Promise<void> {
  const created = await t.send('POST', KBS, { knowledge_base: { name: 'kb', ...fields } })
  expect(created.status).toBe(201)
}

async function alter(t: TestApp, language: string): Promise<unknown> {
  const query = `ALTER KNOWLEDGE_BASE kb USING language = '${language}'`
  return (await t.send('POST', '/api/sql/query', { query })).body
}

async function put(t: TestApp, contents: readonly string[], first = 0): Promise<void> {
  const rows = contents.map((content, index) => ({ id: `r${first + index}`, content }))
  const answer = await t.send('PUT', `${KBS}/kb`, { knowledge_base: { rows } })
  expect(answer.status).toBe(200)
}

test('the language is learned from the first rows and shown; a search sees its own write before', async () => {
  const t = await createTestApp({ isInProcess: true })
  await create(t)
  await put(t, ['Tee'])
  await t.store.keywordLanguages.settled()
  expect((await params(t)).language).toBeUndefined()
  await put(t, GERMAN, 1)
  expect(await found(t, 'Häuser')).toEqual(['r3'])
  await t.store.keywordLanguages.settled()
  expect((await params(t)).language).toBe('german')
  expect(await found(t, 'Haus')).toEqual(['r3'])
  expect(await found(t, 'Gaerten')).toEqual(['r3'])
  const described = await t.rows('DESCRIBE KNOWLEDGE_BASE kb')
  expect(JSON.stringify(described)).toContain('german')
  await put(t, ['Noch ein Haus'], 9)
  expect(await found(t, 'Häuser')).toEqual(['r3', 'r9'])
  await t.close()
})

test('the language of a first short document gives way to that of most documents', async () => {
  using folder = temporaryFolder()
  const t = await createTestApp({ isInProcess: true, directory: folder.path })
  await create(t)
  await put(t, GERMAN)
  await t.store.keywordLanguages.settled()
  expect((await params(t)).language).toBe('german')
  await put(t, ENGLISH, 3)
  await t.store.keywordLanguages.settled()
  expect((await params(t)).language).toBe('english')
  expect(await found(t, 'when is the apartment quiet')).toEqual(['r3'])
  await put(t, [...GERMAN, ...GERMAN, ...GERMAN, ...GERMAN], 10)
  await t.store.keywordLanguages.close()
  await t.close()
  const again = await createTestApp({ isInProcess: true, directory: folder.path })
  again.store.keywordLanguages.start()
  await put(again, GERMAN, 30)
  await again.store.keywordLanguages.settled()
  expect((await params(again)).language).toBe('german')
  await again.close()
})

test('a language that was named is not learned', async () => {
  const t = await createTestApp({ isInProcess: true })
  await create(t, { language: 'none' })
  await put(t, GERMAN)
  await t.store.keywordLanguages.settled()
  expect((await params(t)).language).toBe('none')
  expect(await found(t, 'Haus')).toEqual([])
  await t.close()
})

test('the language is changed by SQL, also back, with inserts in between', async () => {
  const t = await createTestApp({ isInProcess: true })
  await create(t, { language: 'english' })
  await put(t, GERMAN)
  await alter(t, 'german')
  await Promise.all([put(t, ['Ein Haus'], 5), put(t, ['Viele Häuser'], 6)])
  await t.store.keywordLanguages.settled()
  expect(await found(t, 'Hauses')).toEqual(['r2', 'r5', 'r6'])
  expect((await params(t)).keyword_index).toBeUndefined()
  await alter(t, 'none')
  await t.store.keywordLanguages.settled()
  expect(await found(t, 'Haus')).toEqual(['r5'])
  expect(JSON.stringify(await alter(t, 'klingon'))).toContain('Unknown language')
  expect((await params(t)).language).toBe('none')
  await t.close()
})

test('a change that the end of the process cut off is made at the next start', async () => {
  using folder = temporaryFolder()
  const t = await createTestApp({ isInProcess: true, directory: folder.path })
  await create(t, { language: 'english' })
  await put(t, GERMAN)
  // This simulates a process that ended before anything was created.
  await t.store.keywordLanguages.close()
  await alter(t, 'german')
  const { keyword_index: shown } = await params(t)
  expect(shown).toEqual({ language: 'english', next_language: 'german' })
  await put(t, ['Das Haus'], 7)
  expect(await found(t, 'Haus')).toEqual(['r7'])
  await t.close()
  const again = await createTestApp({ isInProcess: true, directory: folder.path })
  again.store.keywordLanguages.start()
  await again.store.keywordLanguages.settled()
  expect(await found(again, 'Haus')).toEqual(['r2', 'r7'])
  await again.close()
})
