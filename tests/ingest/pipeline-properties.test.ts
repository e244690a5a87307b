/**
 * Reading, chunking, embedding and storing overlap. The stored data, its order and the reports must
 * not show it.
 */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { EmbeddedDocument, Row } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { JobMark } from '../../src/core/domain/ports/job-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { yieldToEventLoop } from '../../src/core/runtime/serial-queue.ts'
import { storeRows } from '../../src/ingest/pipeline/store-rows.ts'
import type { StoringOptions } from '../../src/ingest/pipeline/storing-stages.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'
import { FakeChunkStore, type Fixture, fixture, never } from './insert-fixture.ts'

type GivenRow =
  | { readonly kind: 'document'; readonly id: string; readonly text: string }
  | { readonly kind: 'empty' }
  /** Its ID is longer than allowed. */
  | { readonly kind: 'unusable' }

interface Case {
  readonly rows: readonly GivenRow[]
  readonly isUnbounded: boolean
  readonly batchChunks: number
  readonly skipsStored: boolean
  readonly skipsFailed: boolean
  /** The model fails for this text. */
  readonly failingText: string | null
  /** The model refuses this text but accepts any other. */
  readonly refusedText: string | null
  /** The store refuses this ID. */
  readonly refusedId: string | null
  /** How many turns each step takes, in order. */
  readonly turns: readonly number[]
}

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const text = fc.constantFrom('one', 'two', 'three', 'four', 'five')
const row: fc.Arbitrary<GivenRow> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('document' as const), id, text }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'empty' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'unusable' as const }) },
)
const cases: fc.Arbitrary<Case> = fc.record({
  rows: fc.array(row, { maxLength: 24 }),
  isUnbounded: fc.boolean(),
  batchChunks: fc.integer({ min: 1, max: 5 }),
  skipsStored: fc.boolean(),
  skipsFailed: fc.boolean(),
  failingText: fc.option(text, { freq: 3 }),
  refusedText: fc.option(text, { freq: 3 }),
  refusedId: fc.option(id, { freq: 3 }),
  turns: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 12 }),
})

const LONG_ID = 'x'.repeat(5_000)

function rowOf(given: GivenRow): Row {
  if (given.kind === 'document') return { id: given.id, content: given.text }
  return given.kind === 'empty' ? { id: 'none', content: '' } : { id: LONG_ID, content: 'some' }
}

interface Outcome {
  readonly writes: readonly (readonly string[])[]
  readonly contents: Readonly<Record<string, readonly string[]>>
  readonly counts: object
  /** For each write, how many rows and documents are stored or left out by then. */
  readonly marks: readonly (readonly [number, number])[]
  readonly leftOut: readonly string[]
  readonly failure: readonly [string, string] | null
}

/** Handles one batch after the other, and reads each row when all earlier ones are stored. */
function expectedOutcome(given: Case): Outcome {
  const stored = new Map<string, string>()
  const writes: string[][] = []
  const marks: [number, number][] = []
  const leftOut: string[] = []
  const counts = { storedDocuments: 0, skippedRows: 0, chunks: 0, readRows: 0, failedRows: 0 }
  let emptyRows = 0
  let pending = new Map<string, string>()
  const leaveOut = (batch: readonly (readonly [string, string])[]) => {
    counts.failedRows += batch.length
    leftOut.push(...batch.map(([one]) => one))
  }
  const store = (batch: readonly (readonly [string, string])[], isEnd: boolean): void => {
    if (batch.length === 0) return
    const isRefused = batch.some(([one]) => one === given.refusedId)
    if (!isRefused) {
      for (const [one, said] of batch) stored.set(one, said)
      writes.push(batch.map(([one]) => one))
      counts.storedDocuments += batch.length
      counts.chunks += batch.length
      if (isEnd) marks.push([counts.readRows, counts.storedDocuments])
    } else if (!given.skipsFailed) throw new Error('refused')
    else if (batch.length === 1) leaveOut(batch)
    else {
      const middle = batch.length >> 1
      store(batch.slice(0, middle), false)
      store(batch.slice(middle), isEnd)
    }
  }
  const flush = () => {
    const all = [...pending]
    pending = new Map()
    const batch = given.skipsStored ? all.filter(([one]) => !stored.has(one)) : all
    const asked = new Set(
      batch.flatMap(([, said]) => {
        return batch.some(([other]) => stored.get(other) === said) ? [] : [said]
      }),
    )
    const isFailing = given.failingText !== null && asked.has(given.failingText)
    const refused = batch.filter(([, said]) => said === given.refusedText && asked.has(said))
    if (!given.skipsFailed && (isFailing || refused.length > 0)) throw new Error('refused')
    if (isFailing) return leaveOut(batch)
    if (refused.length > 1 && refused.length === batch.length) throw new Error('all are refused')
    leaveOut(refused)
    store(
      batch.filter((one) => !refused.includes(one)),
      true,
    )
  }
  let hasFailed = false
  try {
    for (const one of given.rows) {
      counts.readRows += 1
      if (one.kind === 'empty') emptyRows += 1
      else if (one.kind === 'unusable') {
        if (!given.skipsFailed) throw new Error('unusable')
        counts.failedRows += 1
        leftOut.push(`row ${counts.readRows}`)
      } else {
        pending.delete(one.id)
        pending.set(one.id, one.text)
        if (given.isUnbounded && pending.size >= given.batchChunks) flush()
      }
    }
    flush()
    counts.skippedRows = emptyRows
  } catch {
    hasFailed = true
  }
  const contents = Object.fromEntries([...stored].map(([one, said]) => [one, [said]]))
  const rows = counts.storedDocuments
  const note =
    rows === 0 ? 'Nothing was stored' : `Stored: ${rows} row${rows === 1 ? '' : 's'} of rows`
  return { writes, contents, counts, marks, leftOut, failure: hasFailed ? ['', note] : null }
}

/** Each step takes some turns, so that the stages meet in many orders. */
class SlowStore extends FakeChunkStore {
  readonly marks: [number, number][] = []
  readonly #given: Case
  readonly #wait: () => Promise<void>

  constructor(given: Case, wait: () => Promise<void>) {
    super()
    this.#given = given
    this.#wait = wait
  }

  override async storedTexts(kb: KnowledgeBase, ids: readonly string[]) {
    await this.#wait()
    return super.storedTexts(kb, ids)
  }

  override async replaceDocuments(
    kb: KnowledgeBase,
    documents: readonly EmbeddedDocument[],
    mark?: JobMark,
  ) {
    await this.#wait()
    if (documents.some(({ document }) => document.id === this.#given.refusedId)) {
      throw new AppError('insert_failed', 'the store refuses it')
    }
    if (mark !== undefined) this.marks.push([mark.progress.rows, mark.progress.documents])
    return super.replaceDocuments(kb, documents)
  }
}

interface Run {
  readonly store: SlowStore
  readonly counts: {
    storedDocuments: number
    skippedRows: number
    chunks: number
    readRows: number
  }
  readonly marks: readonly (readonly [number, number])[]
  readonly leftOut: readonly string[]
  readonly done: Promise<void>
}

function run(given: Case, signal: AbortSignal, onStep: (step: number) => void = () => {}): Run {
  let steps = 0
  const wait = async () => {
    steps += 1
    onStep(steps)
    const turns = given.turns[steps % given.turns.length] ?? 0
    for (let turn = 0; turn < turns; turn += 1) await yieldToEventLoop()
  }
  const store = new SlowStore(given, wait)
  const fixed: Fixture = fixture({ chunks: store })
  fixed.embedder.failsAt = given.failingText
  const embed = fixed.embedder.embed.bind(fixed.embedder)
  fixed.embedder.embed = async (texts, ended) => {
    await wait()
    const vectors = await embed(texts, ended)
    if (given.refusedText === null || !texts.includes(given.refusedText)) return vectors
    const cause = Object.assign(new Error(), { status: 400 })
    throw new AppError('provider_refused', 'POST http://model/embed answered 400', { cause })
  }
  async function* rows() {
    for (const one of given.rows) {
      await wait()
      signal.throwIfAborted()
      yield rowOf(one)
    }
  }
  const counts = { storedDocuments: 0, skippedRows: 0, chunks: 0, readRows: 0, failedRows: 0 }
  const { isUnbounded, batchChunks, skipsStored, skipsFailed } = given
  const target = { kb: knowledgeBase(), source: 'rows', rows: rows(), isUnbounded, counts }
  const leftOut: string[] = []
  const options: StoringOptions = {
    ...{ batchChunks, skipsStored, skipsFailed },
    markOf: ({ readRows, storedDocuments, chunks }) => {
      const progress = { rows: readRows, documents: storedDocuments, chunks, total: null }
      return { jobId: 1, progress, checkpoint: null }
    },
    onLeftOut: ({ item }) => leftOut.push(item),
  }
  const done = storeRows(target, fixed.deps, signal, options)
  return { store, counts, marks: store.marks, leftOut, done }
}

describe('stages that overlap', () => {
  test('give the same results as one batch after the other', async () => {
    const property = fc.asyncProperty(cases, async (given) => {
      const expected = expectedOutcome(given)
      const { store, counts, marks, leftOut, done } = run(given, never)
      const error = await done.then(
        () => null,
        (cause: unknown) => cause,
      )
      const { writes, contents } = store
      expect<unknown>({ writes, contents }).toEqual({
        writes: expected.writes,
        contents: expected.contents,
      })
      expect<unknown>(marks).toEqual(expected.marks)
      if (expected.failure === null) expect<unknown>(leftOut).toEqual(expected.leftOut)
      if (expected.failure === null) expect([error, counts]).toEqual([null, expected.counts])
      else expect(String(error)).toEndWith(`. ${expected.failure[1]}`)
      for (const document of store.documents.values()) {
        for (const { chunk, vector } of document.chunks) {
          if (vector.kind === 'new') expect([...vector.vector]).toEqual([chunk.content.length, 1])
        }
      }
    })
    await fc.assert(property, { numRuns: 400 })
  })

  test('that are aborted have stored the first batches, and nothing more follows', async () => {
    const steps = fc.integer({ min: 1, max: 40 })
    const property = fc.asyncProperty(cases, steps, async (given, lastStep) => {
      const expected = expectedOutcome(given)
      const controller = new AbortController()
      const reason = new AppError('cancelled', 'The client went away')
      const { store, counts, done } = run(given, controller.signal, (step) => {
        if (step === lastStep) controller.abort(reason)
      })
      const error = await done.then(
        () => null,
        (cause: unknown) => cause,
      )
      const { writes } = store
      const count = writes.length
      expect<unknown>(writes).toEqual(expected.writes.slice(0, count))
      expect(counts.storedDocuments).toBe(writes.flat().length)
      if (controller.signal.aborted && error !== null && expected.failure === null) {
        expect(error).toBe(reason)
      }
      for (let turn = 0; turn < 20; turn += 1) await yieldToEventLoop()
      expect(store.writes.length).toBe(count)
    })
    await fc.assert(property, { numRuns: 200 })
  })
})
