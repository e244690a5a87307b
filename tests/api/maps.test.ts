/**
 * The map of a knowledge base over HTTP: computed in the background, stored per revision, with
 * details of its points.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const ALL = '/api/projects/mindsdb/knowledge_bases'
const TOPICS = ['green tea leaf', 'steel bridge cable', 'cat dog bird'] as const

interface State {
  readonly state: string
  readonly progress: object | null
  readonly map: {
    readonly version: string
    readonly current: boolean
    readonly point_count: number
    readonly regions: readonly { readonly level: number; readonly words: readonly string[] }[]
  } | null
}

let directory: string
let t: TestApp
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'eider-map-'))
  t = await createTestApp({ directory })
  await t.send('POST', ALL, {
    knowledge_base: { name: 'topics', metadata_columns: ['topic', 'number', 'day'] },
  })
  await store(120)
})
afterAll(async () => {
  await t.close()
  await rm(directory, { recursive: true, force: true })
})

async function store(count: number, from = 0): Promise<void> {
  const rows = Array.from({ length: count }, (_, at) => {
    const topic = TOPICS[at % TOPICS.length] ?? ''
    const [first = '', second = '', third = ''] = topic.split(' ')
    const content = `${topic} ${at % 2 === 0 ? first : second} ${at % 5 === 0 ? third : first}`
    return { id: `d${from + at}`, content, topic, number: at, day: '2026-01-02' }
  })
  await t.send('PUT', `${ALL}/topics`, { knowledge_base: { rows } })
}

async function ready(name = 'topics'): Promise<NonNullable<State['map']>> {
  for (;;) {
    // The fixture checks each answer against the route's schema.
    const { state, map, progress } = (await t.send('GET', `${ALL}/${name}/map`)).body as State
    if (state === 'failed') throw new Error('The map failed')
    // The map is shown before its file is written; progress ends after that.
    if (state === 'ready' && map?.current === true && progress === null) return map
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('a map is computed automatically, and its regions are named by their words', async () => {
  const first = await t.send('GET', `${ALL}/topics/map`)
  expect(first.body).toMatchObject({ state: 'computing', map: null })
  const early = await t.send('GET', `${ALL}/topics/map/points`)
  expect([early.status, early.body]).toMatchObject([409, { code: 'map_not_ready' }])
  const map = await ready()
  expect(map.point_count).toBe(120)
  const words = map.regions.filter(({ level }) => level === 0).flatMap((region) => region.words)
  expect(words).toContain('bridge')
  expect(words).toContain('tea')
})

test('points, values and chunks of a map belong together', async () => {
  const { version } = await ready()
  const points = await t.app.handle(new Request(`http://localhost${ALL}/topics/map/points`))
  expect((await points.arrayBuffer()).byteLength).toBe(120 * 6)
  const etag = points.headers.get('etag') ?? ''
  const same = await t.app.handle(
    new Request(`http://localhost${ALL}/topics/map/points`, { headers: { 'if-none-match': etag } }),
  )
  expect(same.status).toBe(304)
  const topics = await t.send('GET', `${ALL}/topics/map/values?column=topic&version=${version}`)
  // The fixture checks each answer against the route's schema.
  const { values, codes } = topics.body as { values: { value: string }[]; codes: string }
  const code = Buffer.from(codes, 'base64').readUInt32LE(4 * 7)
  const chunks = await t.send('GET', `${ALL}/topics/map/chunks?points=7`)
  const topic = values[code - 1]?.value
  expect(chunks.body).toMatchObject({ items: [{ point: 7, chunk: { metadata: { topic } } }] })
  const days = await t.send('GET', `${ALL}/topics/map/values?column=number`)
  expect(days.body).toMatchObject({ kind: 'numbers' })
  const dates = await t.send('GET', `${ALL}/topics/map/values?column=day`)
  const { kind, numbers } = dates.body as { kind: string; numbers: string }
  const first = new Date(Buffer.from(numbers, 'base64').readDoubleLE(0)).toISOString()
  expect([kind, first]).toEqual(['times', '2026-01-02T00:00:00.000Z'])
})

test('nearness to a text is highest where the text is', async () => {
  await ready()
  const near = await t.send('GET', `${ALL}/topics/map/values?query=green%20tea%20leaf`)
  const bytes = Buffer.from((near.body as { numbers: string }).numbers, 'base64')
  const numbers = Array.from({ length: 120 }, (_, at) => bytes.readDoubleLE(8 * at))
  const best = numbers.indexOf(Math.max(...numbers))
  const { body } = await t.send('GET', `${ALL}/topics/map/chunks?points=${best}`)
  expect(body).toMatchObject({ items: [{ chunk: { metadata: { topic: 'green tea leaf' } } }] })
  expect(numbers.every(Number.isFinite)).toBe(true)
})

test('a map that cannot be computed says why', async () => {
  await ready()
  for (const [path, status] of [
    ['values', 400],
    ['values?column=nothing', 400],
    ['values?column=id&version=old', 409],
    ['chunks?points=999', 400],
    ['chunks?points=a', 400],
  ] as const) {
    expect([path, (await t.send('GET', `${ALL}/topics/map/${path}`)).status]).toEqual([
      path,
      status,
    ])
  }
  await t.send('POST', ALL, { knowledge_base: { name: 'nothing' } })
  const { body } = await t.send('GET', `${ALL}/nothing/map`)
  expect(body).toMatchObject({ state: 'empty', map: null })
})

test('a map survives a restart, and is deleted with its knowledge base', async () => {
  const { version } = await ready()
  await t.close()
  t = await createTestApp({ directory })
  const { body } = await t.send('GET', `${ALL}/topics/map`)
  expect(body).toMatchObject({ state: 'ready', progress: null, map: { version, current: true } })
  await store(10, 500)
  const older = await t.send('GET', `${ALL}/topics/map`)
  expect(older.body).toMatchObject({ state: 'ready', map: { version, current: false } })
  expect((await ready()).point_count).toBe(130)
  expect(await readdir(join(directory, 'maps'))).toHaveLength(1)
  await t.send('DELETE', `${ALL}/topics`)
  while ((await readdir(join(directory, 'maps'))).length > 0) await Bun.sleep(10)
})
