import { type FeltBench, felt, withFeltServer } from '../felt-work.ts'
import { createKnowledgeBase } from '../filling.ts'
import { percentile } from '../load.ts'
import { type SampleTexts, sampleTexts } from '../sample-texts.ts'
import { type Measure, PROJECT, type Scenario } from '../scenario.ts'
import { filledPassages, searchBodies } from '../searches.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const JOBS = 20
const SEARCHES_PER_SECOND = 50
const SIZES = {
  quick: { documents: 2000, rowsOfJob: 100, quietSeconds: 2 },
  normal: { documents: 20_000, rowsOfJob: 3000, quietSeconds: 10 },
  full: { documents: 100_000, rowsOfJob: 10_000, quietSeconds: 20 },
}
const JOB_MS_MAX = 300_000
const POLL_MS = 200
/** The texts of jobs start after all others. */
const FIRST_JOB_TEXT = 30_000_000

/**
 * Searches are due by the clock even if earlier ones are late, so a slow server gets as many as a
 * fast one.
 */
export const besideJobs: Scenario = {
  name: 'beside-jobs',
  title: `${SEARCHES_PER_SECOND} searches a second, quietly and while ${JOBS} inserts run in the background`,
  run: async (size) => {
    const { documents, rowsOfJob, quietSeconds } = SIZES[size]
    const texts = await sampleTexts()
    const [stub, jobStub] = await Promise.all([startStubProvider(), startStubProvider()])
    try {
      return await withFeltServer(async (bench) => {
        await filledPassages(bench, texts, { documents, model: stubEmbeddingModel(stub) })
        const inserts = await jobInserts(bench, texts, rowsOfJob, stubEmbeddingModel(jobStub))
        const bodies = searchBodies(texts)
        const quietly = new PacedSearches(bench, bodies)
        await quietly.during(() => Bun.sleep(1000))
        const quiet = new PacedSearches(bench, bodies)
        const atRest = await felt(bench, { what: 'quiet', unit: 'searches' }, async () => {
          await quiet.during(() => Bun.sleep(quietSeconds * 1000))
          return quiet.count
        })
        const busy = new PacedSearches(bench, bodies)
        const beside = await felt(bench, { what: 'beside jobs', unit: 'chunks' }, async () => {
          await busy.during(() => runJobs(bench, inserts))
          return JOBS * rowsOfJob
        })
        return [
          ...quiet.measures('quiet'),
          ...busy.measures('beside jobs'),
          { what: 'p99 beside jobs over p99 quiet', value: busy.p99 / quiet.p99, unit: 'times' },
          ...atRest.filter(({ what }) => what.includes('processor') || what.includes('p99')),
          ...beside,
        ]
      })
    } finally {
      stub.stop()
      jobStub.stop()
    }
  },
}

class PacedSearches {
  readonly #bench: FeltBench
  readonly #bodies: readonly string[]
  readonly #latenciesMs: number[] = []

  constructor(bench: FeltBench, bodies: readonly string[]) {
    this.#bench = bench
    this.#bodies = bodies
  }

  get count(): number {
    return this.#latenciesMs.length
  }

  get p99(): number {
    return percentile(this.#ascending(), 0.99)
  }

  async during(work: () => Promise<unknown>): Promise<void> {
    const startedAt = performance.now()
    const running = new Set<Promise<void>>()
    const failures: unknown[] = []
    let sent = 0
    const timer = setInterval(() => {
      while (sent * (1000 / SEARCHES_PER_SECOND) <= performance.now() - startedAt) {
        const dueAt = startedAt + sent * (1000 / SEARCHES_PER_SECOND)
        const one = this.#search(sent, dueAt)
          .catch((error) => failures.push(error))
          .then(() => {
            running.delete(one)
          })
        running.add(one)
        sent += 1
      }
    }, 2)
    try {
      await work()
    } finally {
      clearInterval(timer)
      await Promise.all(running)
    }
    if (failures.length > 0) throw new Error(`${failures.length} searches failed: ${failures[0]}`)
  }

  measures(what: string): readonly Measure[] {
    const ascending = this.#ascending()
    return [
      { what: `${what}: searches, p50`, value: percentile(ascending, 0.5), unit: 'ms' },
      { what: `${what}: searches, p99`, value: percentile(ascending, 0.99), unit: 'ms' },
      { what: `${what}: searches`, value: ascending.length, unit: '' },
    ]
  }

  async #search(index: number, dueAt: number): Promise<void> {
    const answer = await fetch(`${this.#bench.server.baseUrl}/api/sql/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: this.#bodies[index % this.#bodies.length] ?? '',
    })
    const text = await answer.text()
    this.#latenciesMs.push(performance.now() - dueAt)
    if (!answer.ok || !text.includes('"data":[[')) throw new Error(text.slice(0, 500))
  }

  #ascending(): readonly number[] {
    return this.#latenciesMs.toSorted((a, b) => a - b)
  }
}

interface JobInsert {
  readonly path: string
  readonly body: string
  readonly knowledgeBase: string
  readonly rows: number
}

/** Returns one insert per knowledge base. */
async function jobInserts(
  bench: FeltBench,
  texts: SampleTexts,
  rowCount: number,
  embeddingModel: Readonly<Record<string, unknown>>,
): Promise<readonly JobInsert[]> {
  const inserts: JobInsert[] = []
  for (let number = 0; number < JOBS; number += 1) {
    const knowledgeBase = `job_${number}`
    const filling = { knowledgeBase, embeddingModel, documents: rowCount, wordsPerDocument: 100 }
    await createKnowledgeBase(bench, filling)
    const rows = Array.from({ length: rowCount }, (_, at) => {
      const index = FIRST_JOB_TEXT + number * rowCount + at
      return { id: `document-${index}`, part: at % 10, content: texts.text(index, 100) }
    })
    const body = JSON.stringify({ knowledge_base: { rows, background: true } })
    const path = `${PROJECT}/knowledge_bases/${knowledgeBase}`
    inserts.push({ path, body, knowledgeBase, rows: rowCount })
  }
  return inserts
}

/** Sends all of them at once and waits until each is done. @throws Error if one fails or chunks are missing */
async function runJobs(
  { client, server }: FeltBench,
  inserts: readonly JobInsert[],
): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const started = inserts.map(async ({ path, body }) => {
    const answer = await fetch(`${server.baseUrl}/api${path}`, { method: 'PUT', headers, body })
    if (answer.status !== 202) throw new Error(`${answer.status}: ${await answer.text()}`)
    await answer.body?.cancel()
  })
  await Promise.all(started)
  const deadline = performance.now() + JOB_MS_MAX
  for (;;) {
    // The contract defines this form.
    const { items } = (await client.request('GET', '/jobs')) as { items: { state: string }[] }
    const states = items.map(({ state }) => state)
    if (states.every((state) => state === 'done') && states.length === inserts.length) break
    if (states.some((state) => state === 'failed' || state === 'cancelled')) {
      throw new Error(`jobs: ${states.join(', ')}`)
    }
    if (performance.now() > deadline) throw new Error(`jobs take too long: ${states.join(', ')}`)
    await Bun.sleep(POLL_MS)
  }
  for (const { knowledgeBase, rows } of inserts) {
    const stored = (await client.sql(`SELECT count(*) FROM ${knowledgeBase}`)).rows[0]?.[0]
    if (Number(stored) !== rows) throw new Error(`${knowledgeBase} has ${stored} of ${rows} chunks`)
  }
}
