/**
 * The process that reads users' files into tables and documents. It has no access to the database
 * or to secrets, and if it crashes, only one request fails.
 */
import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { MemoryCeiling } from '../../core/runtime/process-limits.ts'
import { endWithParent } from '../../ops/supervisor/parent-death.ts'
import type { GuardedJob } from '../../reading/processes/process-guard.ts'
import { answerJob } from '../../reading/processes/read-file.ts'
import type { ReadingJob } from '../../reading/processes/reading-messages.ts'

/** A lower priority than the server's, which answers other requests in the meantime. */
const PRIORITY = 5

endWithParent()
// Ctrl-C and service managers signal all processes of a server, but this one finishes the running
// requests and ends with the server.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.umask(0o077)
setPriority(PRIORITY)

/** The guard checks resident memory every few milliseconds; this catches faster growth. */
const ceiling = new MemoryCeiling()
const guard = new Worker(new URL('./reading-guard-entry.ts', import.meta.url))

process.on('message', async (job: ReadingJob) => {
  if (!ceiling.isSet) ceiling.set(job.limits.memoryBytes)
  guard.postMessage({ folder: job.folder, limits: job.limits } satisfies GuardedJob)
  const answer = await answerJob(job)
  guard.postMessage(null)
  process.send?.(answer)
})
