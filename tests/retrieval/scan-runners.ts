/** Runners that scan without threads. */
import { runTask, type ScanRunner } from '../../src/retrieval/vectors/scan.ts'
import type { ScanSharing, VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'

/** Threads scan even small indexes, in as many parts as there are threads. */
export const ALL_BY_THREADS: ScanSharing = { inlineBytesMax: 0, partBytesMin: 64 * 1024 }

/** The calling thread scans everything. */
export const NONE_BY_THREADS: ScanSharing = { inlineBytesMax: 2 ** 40, partBytesMin: 2 ** 40 }

/** The caller scans small indexes, and no thread is used. */
export const NO_THREADS: ScanRunner = {
  threadCount: 1,
  idleCount: 0,
  run: () => Promise.reject(new Error('a small index needs no thread')),
}

/**
 * The calling thread runs all tasks, one at a time. `onTask` is called for each that compares rows.
 */
export function callingThread(memory: VectorMemory, onTask: () => void = () => {}): ScanRunner {
  return {
    threadCount: 1,
    idleCount: 1,
    run: async (task, signal) => {
      if (task.kind !== 'scan') {
        await Promise.resolve()
        onTask()
      }
      signal?.throwIfAborted()
      return runTask(memory.kernel, task)
    },
  }
}
