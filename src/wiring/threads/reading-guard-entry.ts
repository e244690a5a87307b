/** The thread that ends a reader process when it exceeds its limits. */
import { parentPort } from 'node:worker_threads'
import { processorMs } from '../../core/runtime/process-limits.ts'
import { type GuardedJob, ProcessGuard } from '../../reading/processes/process-guard.ts'

const processGuard = new ProcessGuard({
  residentBytes: () => process.memoryUsage.rss(),
  cpuMs: processorMs,
  parentId: () => process.ppid,
  end: () => process.kill(process.pid, 'SIGKILL'),
})

parentPort?.on('message', (job: GuardedJob) => processGuard.watch(job))
