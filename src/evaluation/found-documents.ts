/** How often the one right document of a question was found, and how far down. */
export interface FoundDocuments {
  /** Questions. */
  readonly total: number
  readonly totalFound: number
  readonly retrievedInTop10: number
  /** The share of the questions whose document stands at this position (from 0) or before it. */
  readonly cumulativeRecall: readonly number[]
}

/**
 * @param positions of the right document of each question, from 0; null: not among the first k
 * @param k positions that were looked at
 */
export function foundDocuments(positions: readonly (number | null)[], k: number): FoundDocuments {
  const found = positions.filter((position) => position !== null)
  const countAt = new Map<number, number>()
  for (const position of found) countAt.set(position, (countAt.get(position) ?? 0) + 1)
  const cumulativeRecall: number[] = []
  let foundCount = 0
  for (let position = 0; position < k; position += 1) {
    foundCount += countAt.get(position) ?? 0
    cumulativeRecall.push(positions.length === 0 ? 0 : foundCount / positions.length)
  }
  return {
    total: positions.length,
    totalFound: found.length,
    retrievedInTop10: found.filter((position) => position < 10).length,
    cumulativeRecall,
  }
}
