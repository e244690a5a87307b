/** A process that reads SQLite and DuckDB files from users. It holds no database of the server and no secret. */
import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { MemoryCeiling } from '../../core/runtime/process-limits.ts'
import { endWithParent } from '../../ops/supervisor/parent-death.ts'
import type { GuardedJob } from '../../reading/processes/process-guard.ts'
import { FileAnswers } from '../../sources/files/file-answers.ts'
import type { FileRequest } from '../../sources/files/file-messages.ts'

/** Lower than the server, which answers others in the meantime. */
const PRIORITY = 5

endWithParent()
// A terminal and a service manager stop all processes of a server; this one ends when the server does.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.umask(0o077)
setPriority(PRIORITY)

/** The guard sees resident memory every few milliseconds; what grows faster fails without it. */
const ceiling = new MemoryCeiling()
const guard = new Worker(new URL('./reading-guard-entry.ts', import.meta.url))
const answers = new FileAnswers()

process.on('message', async (request: FileRequest) => {
  if (request.kind === 'job') {
    const { folder, limits } = request.job
    if (!ceiling.isSet) ceiling.set(limits.memoryBytes)
    guard.postMessage({ folder, limits } satisfies GuardedJob)
  }
  const reply = await answers.reply(request)
  if (!answers.isReading) guard.postMessage(null)
  process.send?.(reply)
})
