/** Which jobs stand under "Running now": always the same ones, as long as nothing happens to them. */

interface JobsUnderWay {
  readonly running: readonly number[]
  readonly queued: readonly number[]
}

/**
 * Those that run come first, then those that are over since they were shown, so that nobody misses how they ended, then
 * those that wait.
 * @param before what was shown until now
 * @returns in the order in which they were begun
 */
export function shownJobs(
  before: readonly number[],
  { running, queued }: JobsUnderWay,
  countMax: number,
): readonly number[] {
  const newestFirst = (one: number, other: number) => other - one
  const going = new Set([...running, ...queued])
  const over = before.filter((id) => !going.has(id)).toSorted(newestFirst)
  // Those that stand there already stay.
  const waiting = queued.toSorted((one, other) => {
    return Number(before.includes(other)) - Number(before.includes(one)) || one - other
  })
  return [...running.toSorted(newestFirst), ...over, ...waiting]
    .slice(0, countMax)
    .sort((one, other) => one - other)
}
