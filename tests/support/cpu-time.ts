/** Milliseconds of processors that work takes here: other work on the machine changes that far less than the time. */
export function cpuMsOf(work: () => unknown): number {
  const started = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}
