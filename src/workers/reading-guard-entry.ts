/** A thread of a reader process that ends it in time. */
import { parentPort } from 'node:worker_threads'
import { type GuardedJob, ProcessGuard } from '../reading/processes/process-guard.ts'
import { processorMs } from '../runtime/processor-time.ts'

const processGuard = new ProcessGuard({
  residentBytes: () => process.memoryUsage.rss(),
  cpuMs: processorMs,
  parentId: () => process.ppid,
  end: () => process.kill(process.pid, 'SIGKILL'),
})

parentPort?.on('message', (job: GuardedJob) => processGuard.watch(job))
