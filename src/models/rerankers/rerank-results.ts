import { member } from '../member.ts'

/**
 * The scores of an answer in the order of the passages: `results` or `data` of `{index,
 * relevance_score}`, or a list of `{index, score}`.
 * @throws Error that says what does not fit
 */
export function scoresFrom(answer: unknown, passageCount: number): readonly number[] {
  const items = [answer, member(answer, 'results'), member(answer, 'data')].find(Array.isArray)
  if (items === undefined) throw new Error('the answer has no list "results"')
  if (items.length !== passageCount) {
    throw new Error(`${items.length} scores came back for ${passageCount} passages`)
  }
  const scores = new Map<number, number>()
  for (const [position, item] of items.entries()) {
    const index = member(item, 'index')
    const isIndex = typeof index === 'number' && Number.isInteger(index)
    if (!isIndex || index < 0 || index >= passageCount || scores.has(index)) {
      throw new Error(`the index of score ${position + 1} is wrong`)
    }
    const score = member(item, 'relevance_score') ?? member(item, 'score')
    if (typeof score !== 'number' || !Number.isFinite(score)) {
      throw new Error(`score ${position + 1} is no finite number`)
    }
    scores.set(index, score)
  }
  return Array.from({ length: passageCount }, (_, index) => scores.get(index) ?? 0)
}

export function isInUnitRange(scores: readonly number[]): boolean {
  return scores.every((score) => score >= 0 && score <= 1)
}

/** The logistic function: what a cross-encoder's raw score means as a probability. */
export function squashed(score: number): number {
  return 1 / (1 + Math.exp(-score))
}
