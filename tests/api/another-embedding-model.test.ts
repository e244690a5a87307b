import { afterEach, describe, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../src/domain/ports.ts'
import type { AppError } from '../../src/errors.ts'
import { createTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

/** Models of the lengths in their names: `small-3`. What they embed waits for the gate, and fails as long as they do. */
class FakeModels {
  readonly asked = new Map<string, string[]>()
  readonly failing = new Map<string, AppError>()
  readonly unreachable = new Set<string>()
  /** Resolves with each batch of a model that is held, which goes on when it is let go. */
  readonly #gates = new Map<
    string,
    { reached: PromiseWithResolvers<void>; open: PromiseWithResolvers<void> }
  >()

  hold(model: string): { readonly reached: Promise<void>; letGo(): void } {
    const gate = { reached: Promise.withResolvers<void>(), open: Promise.withResolvers<void>() }
    this.#gates.set(model, gate)
    const letGo = () => {
      this.#gates.delete(model)
      gate.open.resolve()
    }
    return { reached: gate.reached.promise, letGo }
  }

  registry(): EmbedderRegistry {
    return {
      providers: ['builtin', 'openai'],
      probe: async ({ modelName }) => {
        const failure = this.failing.get(modelName)
        if (failure?.code === 'provider_refused') throw failure
        if (this.unreachable.has(modelName)) {
          return {
            kind: 'unreachable',
            warning: 'The embedding model could not be tried: it slept',
          }
        }
        return { kind: 'ready', dimensions: lengthOf(modelName) }
      },
      embedder: ({ modelName }) => ({
        embed: async (texts, signal) => {
          const gate = this.#gates.get(modelName)
          gate?.reached.resolve()
          if (gate !== undefined) await untilOpen(gate.open.promise, signal)
          const failure = this.failing.get(modelName)
          if (failure !== undefined) throw failure
          this.asked.set(modelName, [...(this.asked.get(modelName) ?? []), ...texts])
          return texts.map((text) => vectorOf(text, modelName))
        },
      }),
    }
  }
}

function untilOpen(open: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return Promise.race([open, promise])
}

function lengthOf(modelName: string): number {
  return Number(modelName.split('-')[1])
}

/** Of a text with the number n: the unit vector at an angle of n degrees, which models turn by their names' sums. */
function vectorOf(text: string, modelName: string): Float32Array {
  const turn = [...modelName].reduce((sum, char) => sum + (char.codePointAt(0) ?? 0), 0)
  const angle = ((Number(/\d+/.exec(text)?.[0] ?? 0) + turn) * Math.PI) / 180
  const vector = new Float32Array(lengthOf(modelName))
  vector[0] = Math.cos(angle)
  vector[1] = Math.sin(angle)
  return vector
}

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
async function expectAllFound(t: TestApp, texts: readonly string[]): Promise<void> {
  expect((await t.rows('SELECT count(*) FROM kb'))[0]).toEqual([texts.length])
  for (const text of texts) expect((await nearest(t, text))[0]).toBe(text)
  expect(
    await t.rows("SELECT count(*) FROM kb WHERE content = 'text 1' AND distance >= 0"),
  ).toEqual([[texts.length]])
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
    await t.send('POST', '/api/sql/query', { query: "DELETE FROM kb WHERE id = 'd3'" })
    await t.send('POST', '/api/sql/query', {
      query: "UPDATE kb SET content = 'text 99' WHERE id = 'd4'",
    })
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
