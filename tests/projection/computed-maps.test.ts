/** Maps whose knowledge base changes or disappears, and failures in reading or writing. */
import { expect, test } from 'bun:test'
import type { CatalogSnapshot } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { DerivedFiles, VectorSource } from '../../src/core/domain/ports/retrieval-ports.ts'
import { ComputedMaps } from '../../src/retrieval/map/computed-maps.ts'
import { MapFileUpkeep } from '../../src/retrieval/map/map-files.ts'

const DIMENSIONS = 8
const COUNT = 50

type Knowledge = Pick<KnowledgeBase, 'id' | 'vectorsNumber' | 'revision'>

/** Returns a knowledge base with the fields that a map reads. */
function knowledgeBase(part: Partial<Knowledge> = {}): KnowledgeBase {
  const known = { id: 1, projectId: 1, vectorsNumber: 0, revision: 1, ...part }
  // Only these members are used here.
  return {
    ...known,
    dimensions: DIMENSIONS,
    language: 'english',
    createdAt: '2026',
  } as KnowledgeBase
}

interface Setting {
  readonly write?: () => Promise<void>
  readonly beforeRows?: () => Promise<void>
}

function fixture({ write = async () => {}, beforeRows = async () => {} }: Setting = {}) {
  const shown = { knowledgeBases: [knowledgeBase()], definitionsVersion: 1 }
  const files = new Map<string, Uint8Array>()
  const failures: unknown[] = []
  const clock = { nowMs: 0 }
  const stored = { count: COUNT }
  let readings = 0
  const derived: DerivedFiles = {
    read: async (name) => files.get(name) ?? null,
    write: async (name, bytes) => {
      await write()
      files.set(name, bytes)
    },
    keepOnly: async (names) => {
      for (const name of files.keys()) if (!names.has(name)) files.delete(name)
    },
  }
  const vectors: VectorSource = {
    readAll: async (_, read) => {
      readings += 1
      if (readings % 2 === 0) await beforeRows()
      const { count } = stored
      const keys = BigInt64Array.from({ length: count }, (_, at) => BigInt(at))
      const values = Float32Array.from({ length: count * DIMENSIONS }, (_, at) => Math.sin(at))
      const batches = (async function* () {
        yield { keys, vectors: values }
      })()
      const [kb] = shown.knowledgeBases
      return read({ revision: kb?.revision ?? 0, dimensions: DIMENSIONS, count, batches })
    },
  }
  const maps = new ComputedMaps({
    vectors,
    // The engine returns no texts and is not used otherwise.
    reader: { run: async () => ({ columns: [], batches: (async function* () {})() }) } as never,
    files: derived,
    // Only these members are used here.
    snapshot: () => shown as unknown as CatalogSnapshot,
    workerUrl: new URL('../../src/wiring/threads/map-entry.ts', import.meta.url).href,
    nowMs: () => clock.nowMs,
    onFailure: (error) => failures.push(error),
  })
  return { maps, shown, files, derived, failures, clock, stored }
}

/** Longer than the pause between two maps. */
const PAUSE_MS = 1e9

test('a map is made on request, and the next one after a change', async () => {
  const { maps, shown, files, clock, failures } = fixture()
  const [kb = knowledgeBase()] = shown.knowledgeBases
  expect(await maps.stateOf(kb)).toMatchObject({ map: null, progress: { stage: 'waiting' } })
  await maps.settled()
  const first = await maps.stateOf(kb)
  expect([first.isCurrent, first.map?.keys.length, first.progress]).toEqual([true, COUNT, null])
  expect([...files.keys()]).toEqual(['map-1-0.bin'])

  const stored = knowledgeBase({ revision: 2 })
  shown.knowledgeBases = [stored]
  const older = await maps.stateOf(stored)
  expect([older.isCurrent, older.map?.revision, older.progress]).toEqual([false, 1, null])
  clock.nowMs += PAUSE_MS
  expect((await maps.stateOf(stored)).progress).not.toBeNull()
  await maps.settled()
  expect((await maps.stateOf(stored)).map?.revision).toBe(2)
  expect(failures).toEqual([])
})

test('where all chunks are deleted, nothing of their map stays', async () => {
  const { maps, shown, files, clock, stored } = fixture()
  const [kb = knowledgeBase()] = shown.knowledgeBases
  await maps.stateOf(kb)
  await maps.settled()
  const bytes = files.get('map-1-0.bin')?.length ?? 0
  stored.count = 0
  clock.nowMs += PAUSE_MS
  const emptied = knowledgeBase({ revision: 2 })
  shown.knowledgeBases = [emptied]
  await maps.stateOf(emptied)
  await maps.settled()
  expect(await maps.stateOf(emptied)).toMatchObject({ isCurrent: true, progress: null })
  expect(files.get('map-1-0.bin')?.length).toBeLessThan(bytes)
})

test('one that is deleted meanwhile leaves neither a file nor a failure', async () => {
  const gone = { shown: { knowledgeBases: [] as KnowledgeBase[] } }
  const { maps, shown, files, failures } = fixture({
    beforeRows: async () => {
      gone.shown.knowledgeBases = []
      throw new Error('its tables are gone')
    },
  })
  const [kb = knowledgeBase()] = shown.knowledgeBases
  gone.shown = shown
  await maps.stateOf(kb)
  await maps.settled()
  expect([[...files.keys()], failures]).toEqual([[], []])
})

test('one whose vectors are replaced meanwhile is made again of the new ones', async () => {
  const changed = { once: () => {} }
  const { maps, shown, files, failures } = fixture({ beforeRows: async () => changed.once() })
  const [kb = knowledgeBase()] = shown.knowledgeBases
  const next = knowledgeBase({ vectorsNumber: 1 })
  changed.once = () => {
    shown.knowledgeBases = [next]
  }
  await maps.stateOf(kb)
  await maps.settled()
  expect([...files.keys()]).toEqual([])
  await maps.stateOf(next)
  await maps.settled()
  expect((await maps.stateOf(next)).isCurrent).toBe(true)
  expect([[...files.keys()], failures]).toEqual([['map-1-1.bin'], []])
})

test('a full disk keeps no map from being shown', async () => {
  const { maps, shown, files, failures } = fixture({
    write: async () => {
      throw new Error('no space left on device')
    },
  })
  const [kb = knowledgeBase()] = shown.knowledgeBases
  await maps.stateOf(kb)
  await maps.settled()
  expect((await maps.stateOf(kb)).map?.keys.length).toBe(COUNT)
  expect([[...files.keys()], failures]).toEqual([[], []])
})

test('one that failed is tried again, and says so meanwhile', async () => {
  const first = { fails: true }
  const { maps, shown, clock, failures } = fixture({
    beforeRows: async () => {
      if (first.fails) throw new Error('cannot be read')
    },
  })
  const [kb = knowledgeBase()] = shown.knowledgeBases
  await maps.stateOf(kb)
  await maps.settled()
  expect((await maps.stateOf(kb)).failure).toContain('could not be computed')
  expect(failures).toHaveLength(1)
  first.fails = false
  clock.nowMs += PAUSE_MS
  expect((await maps.stateOf(kb)).progress).not.toBeNull()
  await maps.settled()
  expect(await maps.stateOf(kb)).toMatchObject({ isCurrent: true, failure: null })
})

test('one that keeps failing is tried less and less often, and at once on request', async () => {
  const reading = { fails: true }
  const { maps, shown, clock, failures } = fixture({
    beforeRows: async () => {
      clock.nowMs += 1_000
      if (reading.fails) throw new Error('cannot be read')
    },
  })
  const [kb = knowledgeBase()] = shown.knowledgeBases
  const asked = async (isRetry = false) => {
    await maps.stateOf(kb, { isRetry })
    await maps.settled()
    return failures.length
  }
  let count = 0
  // Each takes a second.
  for (const pauseMs of [4_000, 8_000, 16_000, 32_000]) {
    count += 1
    expect(await asked()).toBe(count)
    clock.nowMs += pauseMs - 1
    expect(await asked()).toBe(count)
    clock.nowMs += 1
  }
  expect(await asked()).toBe(count + 1)
  clock.nowMs += 600_000
  expect(await asked()).toBe(count + 2)
  expect(await asked()).toBe(count + 2)
  expect(await asked(true)).toBe(count + 3)
  reading.fails = false
  await asked(true)
  expect(await maps.stateOf(kb)).toMatchObject({ isCurrent: true, failure: null })
})

test('several are made one after the other, and those of a server that stops end', async () => {
  const { maps, shown, failures } = fixture()
  const all = [1, 2, 3].map((id) => knowledgeBase({ id }))
  shown.knowledgeBases = all
  for (const kb of all) await maps.stateOf(kb)
  await maps.settled()
  for (const kb of all) expect((await maps.stateOf(kb)).isCurrent).toBe(true)
  shown.knowledgeBases = [knowledgeBase({ id: 4 })]
  await maps.stateOf(knowledgeBase({ id: 4 }))
  await maps.close()
  expect(failures).toEqual([])
})

test('the file of a map goes with its knowledge base, and no other change looks at files', async () => {
  const { shown, files, derived } = fixture()
  const all = [1, 2].map((id) => knowledgeBase({ id }))
  // Only these members are used here.
  const snapshot = (knowledgeBases: readonly KnowledgeBase[], definitionsVersion: number) =>
    ({ ...shown, knowledgeBases, definitionsVersion }) as unknown as CatalogSnapshot
  const upkeep = new MapFileUpkeep(derived, snapshot(all, 1))
  for (const kb of all) files.set(`map-${kb.id}-0.bin`, new Uint8Array())
  files.set('unknown', new Uint8Array())
  upkeep.catalogChanged(snapshot([knowledgeBase({ revision: 2 }), knowledgeBase({ id: 2 })], 1))
  upkeep.catalogChanged(snapshot([...all, knowledgeBase({ id: 3 })], 2))
  expect(files.size).toBe(3)
  upkeep.catalogChanged(snapshot([knowledgeBase({ id: 2 })], 3))
  expect([...files.keys()]).toEqual(['map-2-0.bin'])
})
