/**
 * A reader process: turns files from users into tables and documents. It holds no database and no secret, and if it crashes,
 * only one request fails.
 */
import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { MemoryCeiling } from '../../core/runtime/process-limits.ts'
import { endWithParent } from '../../ops/supervisor/parent-death.ts'
import type { GuardedJob } from '../../reading/processes/process-guard.ts'
import { answerJob } from '../../reading/processes/read-file.ts'
import type { ReadingJob } from '../../reading/processes/reading-messages.ts'

/** Lower than the server, which answers others in the meantime. */
const PRIORITY = 5

endWithParent()
// A terminal or a service manager stops all processes of a server; this one continues for the running requests, and ends
// with the server.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.umask(0o077)
setPriority(PRIORITY)

/** The guard sees resident memory every few milliseconds; what grows faster fails without it. */
const ceiling = new MemoryCeiling()
const guard = new Worker(new URL('./reading-guard-entry.ts', import.meta.url))

process.on('message', async (job: ReadingJob) => {
  if (!ceiling.isSet) ceiling.set(job.limits.memoryBytes)
  guard.postMessage({ folder: job.folder, limits: job.limits } satisfies GuardedJob)
  const answer = await answerJob(job)
  guard.postMessage(null)
  process.send?.(answer)
})
