/**
 * A reader process: what others wrote becomes tables and documents here. It holds no database and no secret, and whatever
 * happens to it is one failed request.
 */
import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { GuardedJob } from '../reading/processes/process-guard.ts'
import { answerJob } from '../reading/processes/reading-loop.ts'
import type { ReadingJob } from '../reading/processes/reading-messages.ts'
import { endWithParent } from '../supervisor/parent-death.ts'

/** Behind the server, which answers others meanwhile. */
const PRIORITY = 5

endWithParent()
// A terminal and a service manager stop all processes of a server; this one goes on for the requests that still run, and
// ends when the server does.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.umask(0o077)
setPriority(PRIORITY)

const guard = new Worker(new URL('./reading-guard-entry.ts', import.meta.url))

process.on('message', async (job: ReadingJob) => {
  guard.postMessage({ folder: job.folder, limits: job.limits } satisfies GuardedJob)
  const answer = await answerJob(job)
  guard.postMessage(null)
  process.send?.(answer)
})
