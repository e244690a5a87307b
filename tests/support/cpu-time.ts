/**
 * Returns the processor time of some work in milliseconds, which other work on the machine affects
 * far less than elapsed time.
 */
export function cpuMsOf(work: () => unknown): number {
  const started = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}
