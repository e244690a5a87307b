import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { MemoryCeiling } from '../core/runtime/process-limits.ts'
import { endWithParent } from '../ops/supervisor/parent-death.ts'
import type { GuardedJob } from '../reading/processes/process-guard.ts'

/** A lower priority than the server's, which answers other requests in the meantime. */
const PRIORITY = 5

/** Makes this a reader process: it answers the server's jobs under the limits of each. */
export function answerJobs<Job extends NonNullable<GuardedJob>>(
  answer: (job: Job) => Promise<unknown>,
): void {
  endWithParent()
  // Ctrl-C and service managers signal all processes of a server, but this one finishes the running
  // requests and ends with the server.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  process.umask(0o077)
  setPriority(PRIORITY)

  /** The guard checks resident memory every few milliseconds; this catches faster growth. */
  const ceiling = new MemoryCeiling()
  const guard = new Worker(new URL('./threads/reading-guard-entry.ts', import.meta.url))

  process.on('message', async (job: Job) => {
    const { folder, limits } = job
    if (!ceiling.isSet) ceiling.set(limits.memoryBytes)
    guard.postMessage({ folder, limits } satisfies GuardedJob)
    const answered = await answer(job)
    guard.postMessage(null)
    process.send?.(answered)
  })
}
