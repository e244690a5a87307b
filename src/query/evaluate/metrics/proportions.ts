/** How sure the shares are that few questions give. */

/** The 97.5th percentile of the normal distribution. */
const Z = 1.959963984540054

/** E. B. Wilson's interval (1927), 95 %: it holds for few questions and for shares near 0 and 1. null: of nothing. */
export function wilsonInterval(
  successes: number,
  total: number,
): {
  readonly low: number
  readonly high: number
} | null {
  if (total === 0) return null
  const share = successes / total
  const scale = 1 + Z ** 2 / total
  const middle = (share + Z ** 2 / (2 * total)) / scale
  const spread = (Z / scale) * Math.sqrt((share * (1 - share)) / total + Z ** 2 / (4 * total ** 2))
  return { low: Math.max(0, middle - spread), high: Math.min(1, middle + spread) }
}

/** Two settings over the same questions. */
export interface PairedComparison {
  /** Questions that only the second one answers rightly. */
  readonly wins: number
  /** Only the first one. */
  readonly losses: number
  readonly ties: number
  /**
   * McNemar's exact test, two-sided: the probability of a difference of at least this size if both are equally good. 1: no
   * question distinguishes them.
   */
  readonly pValue: number
}

export function pairedComparison(
  pairs: readonly (readonly [first: boolean, second: boolean])[],
): PairedComparison {
  const wins = pairs.filter(([first, second]) => !first && second).length
  const losses = pairs.filter(([first, second]) => first && !second).length
  return { wins, losses, ties: pairs.length - wins - losses, pValue: signTest(wins, losses) }
}

/** The probability that one side of a coin comes up at most this often in n throws, for either side. */
function signTest(wins: number, losses: number): number {
  const total = wins + losses
  const fewer = Math.min(wins, losses)
  let logTerm = -total * Math.LN2
  let sum = Math.exp(logTerm)
  for (let count = 1; count <= fewer; count += 1) {
    logTerm += Math.log((total - count + 1) / count)
    sum += Math.exp(logTerm)
  }
  return Math.min(1, 2 * sum)
}
