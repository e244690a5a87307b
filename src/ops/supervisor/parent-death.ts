import { LIBC } from '../../core/runtime/process-limits.ts'

/** Of prctl(2). */
const PR_SET_PDEATHSIG = 1
const SIGKILL = 9

/**
 * From now on this process ends when the one that started it does, however that happens: no server must be left holding
 * the data folder, and no reader process must outlive its server. What was acknowledged is on disk, so there is nothing
 * to finish.
 */
export function endWithParent(): void {
  // Every system reports the end of the channel, but only to an event loop that runs.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  // Only the parent knows whether the end of the terminal matters: it was started with nohup, perhaps.
  process.on('SIGHUP', () => {})
  // Linux ends this process also when it hangs.
  LIBC?.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
}
