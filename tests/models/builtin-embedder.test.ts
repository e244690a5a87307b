import { afterAll, expect, test } from 'bun:test'
import {
  BuiltinEmbedder,
  builtinEmbedderOptions,
} from '../../src/models/builtin/builtin-embedder.ts'

const shared = new BuiltinEmbedder()
afterAll(() => shared.close())

const never = new AbortController().signal

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined) throw new Error('a vector is missing')
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

const texts = [
  'How do I reset my password?',
  'Steps to recover a forgotten login password',
  'The recipe needs two cups of flour and an egg',
]

test('vectors have 384 dimensions and length 1', async () => {
  for (const vector of await shared.embed([...texts, ''], never)) {
    expect(vector).toHaveLength(384)
    expect(cosine(vector, vector)).toBeCloseTo(1, 5)
  }
})

// Reference: sentence-transformers' all-MiniLM-L6-v2 in float32 finds the first pair close and the
// second far apart.
test('texts with similar meanings are close, others are far apart', async () => {
  const [reset, recover, recipe] = await shared.embed(texts, never)
  expect(cosine(reset, recover)).toBeGreaterThan(0.6)
  expect(cosine(reset, recipe)).toBeLessThan(0.15)
})

test('a vector does not depend on the other texts in the request', async () => {
  const [together] = await shared.embed([texts[0] ?? '', 'zebra '.repeat(40)], never)
  const [alone] = await shared.embed([texts[0] ?? ''], never)
  expect(together).toEqual(alone)
})

test('a text has the same vector each time, also from a new process', async () => {
  const other = new BuiltinEmbedder()
  try {
    const [first] = await shared.embed(['a stable query'], never)
    const [again] = await shared.embed(['a stable query'], never)
    const [elsewhere] = await other.embed(['a stable query'], never)
    expect(again).toEqual(first)
    expect(elsewhere).toEqual(first)
  } finally {
    await other.close()
  }
})

test('a caller who changes a vector does not change the next one', async () => {
  const [first] = await shared.embed(['mine'], never)
  const before = first?.slice()
  first?.fill(0)
  const [again] = await shared.embed(['mine'], never)
  expect(again).toEqual(before)
})

test('answers come in the order of the texts, for all lengths', async () => {
  const mixed = Array.from({ length: 30 }, (_, index) => `word${index} `.repeat((index * 7) % 40))
  const vectors = await shared.embed(mixed, never)
  for (const index of [3, 11, 26]) {
    const [alone] = await shared.embed([mixed[index] ?? ''], never)
    expect(vectors[index]).toEqual(alone)
  }
})

test('concurrent requests each get their own vectors', async () => {
  const requests = Array.from({ length: 20 }, (_, index) => shared.embed([`text ${index}`], never))
  const answers = await Promise.all(requests)
  for (const [index, answer] of answers.entries()) {
    expect(answer).toEqual(await shared.embed([`text ${index}`], never))
  }
})

test('no text gives no vector, and of an endless text only the start counts', async () => {
  expect(await shared.embed([], never)).toEqual([])
  const [long] = await shared.embed(['lorem ipsum '.repeat(200_000)], never)
  const [short] = await shared.embed(['lorem ipsum '.repeat(4000)], never)
  expect(long).toEqual(short)
})

test('the end of a text that is too long for once is in its vector', async () => {
  const start = 'The boundary layer of a flat plate separates. '.repeat(30)
  const end = 'A kettle whistles while the tea is brewing. '.repeat(30)
  const texts = [start, start + end, 'tea in a kettle']
  const [alone = [], both = [], query = []] = await shared.embed(texts, never)
  const cosine = (vector: ArrayLike<number>) => {
    return Array.from(query).reduce((sum, value, index) => sum + value * (vector[index] ?? 0), 0)
  }
  expect(cosine(both)).toBeGreaterThan(cosine(alone) + 0.2)
})

test('an abort ends the caller at once and drops the waiting work', async () => {
  const stop = new AbortController()
  const chunks = Array.from({ length: 400 }, (_, index) => `chunk ${index} `.repeat(60))
  const inserting = shared.embed(chunks, stop.signal)
  const ended: string[] = []
  inserting.catch(() => ended.push('inserting'))
  // A small request overtakes: once it is answered, the process has the large one.
  await shared.embed(['a request that overtakes'], never)
  const next = shared.embed(['the next request'], never).then(() => ended.push('next'))
  stop.abort(new Error('client went away'))
  await expect(inserting).rejects.toThrow('client went away')
  await next
  expect(ended).toEqual(['inserting', 'next'])
})

test('an aborted signal is refused before anything starts', async () => {
  const reason = new Error('too late')
  await expect(shared.embed(['x'], AbortSignal.abort(reason))).rejects.toBe(reason)
})

test.each(['throw', 'reject', 'exit', 'abort'])(
  'a process that ends by %s fails its requests, the next call starts another',
  async (how) => {
    const entryUrl = new URL('./fixtures/crashing-embedder.ts', import.meta.url).href
    const embedder = new BuiltinEmbedder({ ...builtinEmbedderOptions(), entryUrl })
    for (let round = 0; round < 2; round += 1) {
      const failure = await embedder.embed([how], never).catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'provider_failed' })
      expect(String(failure)).toContain('stopped unexpectedly')
      expect(String(failure)).not.toContain('secret')
    }
    await embedder.close()
  },
)

test('missing model files are a clear failure that shows no path', async () => {
  const options = { ...builtinEmbedderOptions(), modelFolder: '/no/such/folder' }
  const embedder = new BuiltinEmbedder(options)
  const failure = await embedder.embed(['x'], never).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'provider_failed' })
  expect(String(failure)).toContain('missing or damaged')
  expect(String(failure)).not.toContain('/no/such')
  await embedder.close()
})

test('close fails what waits, ends the process, and refuses what comes later', async () => {
  const embedder = new BuiltinEmbedder()
  const chunks = Array.from({ length: 200 }, (_, index) => `chunk ${index} `.repeat(60))
  const waiting = embedder.embed(chunks, never).catch((error: unknown) => error)
  await embedder.embed(['ready'], never)
  await embedder.close()
  expect(await waiting).toMatchObject({ code: 'shutting_down' })
  await expect(embedder.embed(['x'], never)).rejects.toMatchObject({ code: 'shutting_down' })
})

test('the files of the model are those that were published with it', async () => {
  const { modelFolder } = builtinEmbedderOptions()
  const sums = (await Bun.file(`${modelFolder}/SHA256SUMS`).text()).trim().split('\n')
  expect(sums).toHaveLength(2)
  for (const line of sums) {
    const [sum = '', name = ''] = line.split(/\s+/)
    const bytes = await Bun.file(`${modelFolder}/${name}`).bytes()
    expect(new Bun.CryptoHasher('sha256').update(bytes).digest('hex')).toBe(sum)
  }
})

test('one process and two give the same vectors, in the order of the texts', async () => {
  const many = Array.from({ length: 30 }, (_, index) => {
    return `text ${index} says something about ${'words and '.repeat(3 + ((index * 7) % 40))}more`
  })
  const one = new BuiltinEmbedder({ ...builtinEmbedderOptions(), processesMax: 1 })
  const two = new BuiltinEmbedder({ ...builtinEmbedderOptions(), processesMax: 2 })
  try {
    expect(await two.embed(many, never)).toEqual(await one.embed(many, never))
  } finally {
    await Promise.all([one.close(), two.close()])
  }
})
