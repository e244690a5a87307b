import { createApp } from '../../src/app.ts'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { openStore } from '../../src/store/store.ts'
import { settingsFrom } from '../../src/wiring/settings/settings.ts'
import { percentile } from '../load.ts'
import { type SampleTexts, sampleTexts, seededRandom } from '../sample-texts.ts'
import { type Measure, type Scenario, withFolder } from '../scenario.ts'

const DIMENSIONS = 384
const ROWS_PER_INSERT = 2000
const TICK_MS = 5
const KNOWLEDGE_BASES = '/api/projects/mindsdb/knowledge_bases'

/** Runs the product in this process with prepared input, so that only its own work blocks the loop. */
export const eventLoop: Scenario = {
  name: 'event-loop',
  isInProcess: true,
  title: `In one process: how late a timer of ${TICK_MS} ms comes during inserts of ${ROWS_PER_INSERT} rows`,
  run: async (size) => {
    const texts = await sampleTexts()
    const inserts = size === 'quick' ? 3 : 10
    const bodies = Array.from({ length: inserts }, (_, index) => bodyOf(index, texts))
    return withFolder(async (directory) => {
      const store = await openStore({ directory, threadPoolSize: 16 })
      const settings = settingsFrom({})
      const app = createApp({ settings, store, version: 'bench', embedders: embedders() })
      const send = async (method: string, path: string, body: string): Promise<void> => {
        const headers = { 'content-type': 'application/json' }
        const url = `http://localhost${KNOWLEDGE_BASES}${path}`
        const answer = await app.handle(new Request(url, { method, headers, body }))
        if (answer.status > 201) throw new Error(await answer.text())
      }
      try {
        await send('POST', '', '{"knowledge_base": {"name": "k", "metadata_columns": ["part"]}}')
        return await lags(async () => {
          for (const body of bodies) await send('PUT', '/k', body)
        })
      } finally {
        await app.close()
      }
    })
  },
}

async function lags(work: () => Promise<void>): Promise<readonly Measure[]> {
  const lateMs: number[] = []
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    lateMs.push(Math.max(0, now - last - TICK_MS))
    last = now
  }, TICK_MS)
  await work()
  clearInterval(timer)
  lateMs.sort((a, b) => a - b)
  return [
    { what: 'late by, p50', value: percentile(lateMs, 0.5), unit: 'ms' },
    { what: 'late by, p99', value: percentile(lateMs, 0.99), unit: 'ms' },
    { what: 'late by, longest', value: lateMs.at(-1) ?? Number.NaN, unit: 'ms' },
  ]
}

function bodyOf(index: number, texts: SampleTexts): string {
  const rows = Array.from({ length: ROWS_PER_INSERT }, (_, at) => {
    const number = index * ROWS_PER_INSERT + at
    return { id: `document-${number}`, part: number % 10, content: texts.text(number, 100) }
  })
  return JSON.stringify({ knowledge_base: { rows } })
}

function embedders(): EmbedderRegistry {
  const random = seededRandom(1)
  const vectors = Array.from({ length: 100 }, () => {
    return Float32Array.from({ length: DIMENSIONS }, () => random() - 0.5)
  })
  const vectorAt = (index: number) => vectors[index % vectors.length] ?? new Float32Array()
  return {
    providers: ['builtin'],
    embedder: () => ({ embed: async (texts) => texts.map((_, index) => vectorAt(index).slice()) }),
    probe: async () => ({ kind: 'ready', dimensions: DIMENSIONS }),
  }
}
