import { expect, test } from 'bun:test'
import type { SyncSource } from '../../src/core/domain/flow/sync-source.ts'
import type { SyncStore } from '../../src/core/domain/ports/job-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { DAY_MS } from '../../src/core/time.ts'
import { SourceKeeper, WATCHING } from '../../src/ingest/sync/source-keeper.ts'

test('while no run can start, one attempt at a time waits, and one failure is logged', async () => {
  const at = '2026-01-01 00:00:00.000000'
  // What the keeper reads of a source and a store.
  const source = {
    ...{ id: 1, knowledgeBaseId: 1, name: 'rows', kind: 'query', parameters: {} },
    ...{ schedule: 'every 1 minute', isWatched: false, createdAt: at, updatedAt: at },
  } as unknown as SyncSource
  const store = { sources: () => [source], lastRun: () => null, change: async () => source }
  let nowMs = Date.parse('2026-01-02T00:00:00Z')
  let attempts = 0
  const failures: unknown[] = []
  const keeper = new SourceKeeper({
    store: store as unknown as SyncStore,
    snapshot: () => {
      attempts += 1
      throw new AppError('storage_full', 'The disk is full')
    },
    ...{ folders: [], now: () => nowMs, watching: WATCHING },
    run: () => Promise.reject(new Error('no run starts')),
    jobs: { list: () => [] } as unknown as ConstructorParameters<typeof SourceKeeper>[0]['jobs'],
    onFailure: (error) => failures.push(error),
  })
  await keeper.start()
  for (let day = 0; day < 5; day += 1) {
    nowMs += DAY_MS
    // Any change looks at the schedules of all sources, as the timer does.
    await keeper.change(source, {})
  }
  keeper.close()
  expect([attempts, failures.length]).toEqual([1, 1])
})
