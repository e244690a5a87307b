/** What two settings differ in, question by question, and whether that says something. */
import type { Measured } from './evaluation.ts'

export interface Compared {
  readonly question: string
  readonly first: Measured
  readonly second: Measured
  /** nDCG of the second less that of the first: above 0 where the second is better. */
  readonly change: number
}

/** Questions that both have, those that changed most first. */
export function comparedOf(
  first: readonly Measured[],
  second: readonly Measured[],
  k: number,
): readonly Compared[] {
  const others = new Map(second.map((one) => [one.question, one]))
  return first
    .flatMap((one) => {
      const other = others.get(one.question)
      if (other === undefined) return []
      const change = (other.ndcg[k - 1] ?? 0) - (one.ndcg[k - 1] ?? 0)
      return [{ question: one.question, first: one, second: other, change }]
    })
    .sort((one, other) => Math.abs(other.change) - Math.abs(one.change))
}

const ROUNDS_MAX = 10_000
/** Additions in all, so that many questions do not stop the page. */
const WORK_MAX = 20_000_000
/** Of rounding: a round that comes to the same sum counts as one as large. */
const NEARLY = 1e-9

/**
 * How likely chance alone makes a difference as large as this one: the share of rounds in which, with the sign of each
 * question's change thrown like a coin, the sum is as far from 0. The same changes always give the same answer.
 */
export function chanceOf(changes: readonly number[]): number {
  const changed = changes.filter((change) => change !== 0)
  if (changed.length === 0) return 1
  const seen = Math.abs(changed.reduce((sum, change) => sum + change, 0)) - NEARLY
  const rounds = Math.min(ROUNDS_MAX, Math.ceil(WORK_MAX / changed.length))
  const random = coin()
  let asLarge = 0
  for (let round = 0; round < rounds; round += 1) {
    let sum = 0
    for (const change of changed) sum += random() ? change : -change
    if (Math.abs(sum) >= seen) asLarge += 1
  }
  return (asLarge + 1) / (rounds + 1)
}

/** xorshift32, from the same seed each time. */
function coin(): () => boolean {
  let state = 0x9e3779b9
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state & 0x10000) !== 0
  }
}
