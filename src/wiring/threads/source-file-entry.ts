/**
 * The process that reads users' SQLite and DuckDB files, without access to the server's database or
 * to secrets.
 */
import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { MemoryCeiling } from '../../core/runtime/process-limits.ts'
import { endWithParent } from '../../ops/supervisor/parent-death.ts'
import type { GuardedJob } from '../../reading/processes/process-guard.ts'
import { replyTo } from '../../sources/files/file-answers.ts'
import type { FileJob } from '../../sources/files/file-messages.ts'

/** A lower priority than the server's, which answers other requests in the meantime. */
const PRIORITY = 5

endWithParent()
// Ctrl-C and service managers signal all processes of a server, but this one ends only with the
// server.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.umask(0o077)
setPriority(PRIORITY)

/** The guard checks resident memory every few milliseconds; this catches faster growth. */
const ceiling = new MemoryCeiling()
const guard = new Worker(new URL('./reading-guard-entry.ts', import.meta.url))

process.on('message', async (job: FileJob) => {
  const { folder, limits } = job
  if (!ceiling.isSet) ceiling.set(limits.memoryBytes)
  guard.postMessage({ folder, limits } satisfies GuardedJob)
  const reply = await replyTo(job)
  guard.postMessage(null)
  process.send?.(reply)
})
