import { LIBC } from '../../core/runtime/process-limits.ts'

const PR_SET_PDEATHSIG = 1
const SIGKILL = 9

/** Ends this process with its parent, so that no reader outlives its server. */
export function endWithParent(): void {
  // Works on every system, but only while the event loop runs.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  // Only the parent decides what closing the terminal means, since it may run under nohup.
  process.on('SIGHUP', () => {})
  // On Linux, the kernel ends this process even if it hangs.
  LIBC?.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
}
