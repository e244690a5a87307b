import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { FinishedRun } from '../../src/core/domain/agents/completion-event.ts'
import { Database } from '../../src/store/duckdb/database.ts'
import { lockNoteOf } from '../../src/store/duckdb/locked-instance.ts'
import { restore } from '../../src/store/restore.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { rowsOf, temporaryFolder } from '../support/store-fixture.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 4, 20)

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function run(number: number, changes: Partial<FinishedRun> = {}): FinishedRun {
  const startedAtMs = NOW_MS + number
  return {
    traceId: idOf(number),
    agentId: 1,
    agentName: 'helper',
    projectId: 1,
    projectName: 'mindsdb',
    question: `Question ${number}?`,
    purpose: 'question',
    conversationId: null,
    askedBy: null,
    traceParent: null,
    provider: 'openai',
    modelName: 'm',
    startedAtMs,
    endedAtMs: startedAtMs + 5,
    turns: [],
    steps: [{ startMs: 0, tookMs: 1, tool: 'kb_query_tool', input: 'a', observation: 'b' }],
    usage: null,
    cost: null,
    outcome: 'answered',
    answer: 'Yes',
    citations: [],
    warnings: [],
    evidence: 'answer',
    errorCode: null,
    errorMessage: null,
    ...changes,
  }
}

function idOf(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
}

interface Opened {
  readonly store: Store
  readonly clock: { nowMs: number }
}

async function opened(options: Partial<Parameters<typeof openStore>[0]> = {}): Promise<Opened> {
  const clock = { nowMs: NOW_MS }
  const store = await openStore({ directory: ':memory:', now: () => clock.nowMs, ...options })
  cleanups.push(() => store.close())
  return { store, clock }
}

const ALL = { limit: 1000, before: null }

async function numbersIn({ traces }: Store): Promise<readonly number[]> {
  const { items } = await traces.list({}, ALL)
  return items.map(({ traceId }) => Number(traceId.slice(-12)))
}

function stepsIn(store: Store) {
  return rowsOf(store, 'SELECT count(*) FROM eider.trace_steps')
}

describe('traces that are stored', () => {
  test('are there after the store was closed and opened', async () => {
    using folder = temporaryFolder()
    const first = await openStore({ directory: folder.path, now: () => NOW_MS })
    first.traces.keep(run(1))
    await first.close()
    const { store } = await opened({ directory: folder.path })
    store.traces.keep(run(2))
    expect(await numbersIn(store)).toEqual([2, 1])
    expect(await store.traces.get(idOf(1))).toMatchObject({ question: 'Question 1?' })
    await store.close()
  })

  test('are listed when they ended while others were being written', async () => {
    const { store } = await opened()
    store.traces.keep(run(1))
    const listed = numbersIn(store)
    store.traces.keep(run(2))
    expect(await numbersIn(store)).toEqual([2, 1])
    await listed
  })

  test('come page by page, the newest first, beside new ones', async () => {
    const { store } = await opened()
    for (let number = 1; number <= 5; number += 1) store.traces.keep(run(number))
    const first = await store.traces.list({}, { limit: 2, before: null })
    store.traces.keep(run(6))
    const second = await store.traces.list({}, { limit: 2, before: first.next })
    const third = await store.traces.list({}, { limit: 2, before: second.next })
    const pages = [first, second, third].map(({ items }) => items.map(({ question }) => question))
    expect(pages.flat()).toEqual([5, 4, 3, 2, 1].map((number) => `Question ${number}?`))
    expect(third.next).toBeNull()
  })

  test('are removed when they are too old', async () => {
    using folder = temporaryFolder()
    const traces = { keepMs: 7 * DAY_MS }
    const first = await openStore({ directory: folder.path, now: () => NOW_MS, traces })
    first.traces.keep(run(1))
    first.traces.keep(run(2, { startedAtMs: NOW_MS + 2 * DAY_MS }))
    await first.close()
    const nowMs = NOW_MS + 8 * DAY_MS
    const { store } = await opened({ directory: folder.path, traces, now: () => nowMs })
    expect(await numbersIn(store)).toEqual([2])
    expect(await stepsIn(store)).toEqual([[1]])
    await store.close()
  })

  test('are removed, oldest first, if their texts exceed the limit', async () => {
    const { store } = await opened({ traces: { bytesMax: 100_000 } })
    for (let number = 1; number <= 20; number += 1) {
      store.traces.keep(run(number, { answer: 'x'.repeat(9_000) }))
      await store.traces.settled()
    }
    const kept = await numbersIn(store)
    expect(kept.length).toBeWithin(8, 12)
    expect(kept[0]).toBe(20)
    expect(kept.toSorted((one, other) => other - one)).toEqual([...kept])
    expect(await stepsIn(store)).toEqual([[kept.length]])
  })

  test('of a project go with it, those of an agent stay', async () => {
    const { store } = await opened()
    const project = await store.catalog.createProject('shop')
    const own = { projectId: project.id, projectName: 'shop' }
    store.traces.keep(run(1))
    store.traces.keep(run(2, own))
    await store.traces.rate(idOf(2), { rating: 1, comment: null })
    store.traces.keep(run(3, own))
    await store.catalog.dropProject(project)
    expect(await numbersIn(store)).toEqual([1])
    expect(await stepsIn(store)).toEqual([[1]])
    expect(await rowsOf(store, 'SELECT count(*) FROM eider.trace_feedback')).toEqual([[0]])
  })

  test('are read from memory while nothing can be written', async () => {
    using folder = temporaryFolder()
    await (await openStore({ directory: folder.path })).close()
    const freeBytesOf = () => 0
    const { store } = await opened({ directory: folder.path, diskReserve: '1GB', freeBytesOf })
    const failures: unknown[] = []
    store.traces.onFailure((error) => failures.push(error))
    for (const number of [1, 2]) {
      store.traces.keep(run(number))
      await store.traces.settled()
    }
    // It is reported once, because the next write is tried after a while.
    expect(failures).toMatchObject([{ code: 'storage_full' }])
    expect(await store.traces.get(idOf(2))).toMatchObject({ answer: 'Yes' })
    expect(await numbersIn(store)).toEqual([])
    await store.close()
  })

  test('are visible to the next statement without invalidating other plans', async () => {
    const { store } = await opened()
    const own = 'SELECT count(*) FROM eider.traces'
    for (let number = 1; number <= 5; number += 1) {
      store.traces.keep(run(number))
      await store.traces.settled()
      expect(await rowsOf(store, own)).toEqual([[number]])
      expect(await rowsOf(store, 'SELECT count(*) FROM eider.projects')).toEqual([[1]])
    }
    const memory = { directory: null, memoryLimit: '1GB', threads: 1, spillLimit: '1GB' }
    const database = await Database.open({ ...memory, note: lockNoteOf(0, undefined) })
    cleanups.push(() => database.close())
    const { dataVersion } = database
    await database.writeRecords((connection) => connection.run('SELECT 1'))
    expect(database.dataVersion).toBe(dataVersion)
    await database.write((connection) => connection.run('SELECT 1'))
    expect(database.dataVersion).not.toBe(dataVersion)
  })
})

test('restoring an old backup keeps what has expired since', async () => {
  using folder = temporaryFolder()
  const [directory, target] = [join(folder.path, 'data'), join(folder.path, 'restored')]
  const { store } = await opened({ directory })
  store.traces.keep(run(1))
  expect(await numbersIn(store)).toEqual([1])
  await store.revokedTokens.revoke('t', NOW_MS + DAY_MS)
  const { name } = await store.backups.create()
  await restore({ backup: join(directory, 'backups', name), folder: target })
  expect(await numbersIn((await opened({ directory: target })).store)).toEqual([1])
})
