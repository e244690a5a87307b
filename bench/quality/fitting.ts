/**
 * Fits small models by gradient descent (Adam): a listwise one for a ranking, a logistic one for a
 * probability.
 */

const DECAY = 0.001
const STEPS = 150

interface Row {
  readonly values: readonly number[]
  readonly isRight: boolean
}

/** Minimizes a function with Adam, based on its gradient. */
function minimized(
  size: number,
  steps: number,
  addGradient: (at: Float64Array, into: Float64Array) => void,
) {
  const [weights, mean, square] = [0, 1, 2].map(() => new Float64Array(size)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ]
  for (let step = 1; step <= steps; step += 1) {
    const gradient = new Float64Array(size)
    addGradient(weights, gradient)
    const rate = 0.4 * (1 - step / (1.2 * steps))
    for (let at = 0; at < size; at += 1) {
      const slope = (gradient[at] ?? 0) + DECAY * (weights[at] ?? 0)
      mean[at] = 0.9 * (mean[at] ?? 0) + 0.1 * slope
      square[at] = 0.99 * (square[at] ?? 0) + 0.01 * slope * slope
      const [first, second] = [
        (mean[at] ?? 0) / (1 - 0.9 ** step),
        (square[at] ?? 0) / (1 - 0.99 ** step),
      ]
      weights[at] = (weights[at] ?? 0) - (rate * first) / (Math.sqrt(second) + 1e-8)
    }
  }
  return weights
}

function dot(weights: Float64Array, values: readonly number[]): number {
  let sum = 0
  for (let at = 0; at < values.length; at += 1) sum += (weights[at] ?? 0) * (values[at] ?? 0)
  return sum
}

/** Returns weights that rank the right items of each list first. */
export function fitRanking(lists: readonly (readonly Row[])[]): Float64Array {
  const useful = lists.filter((list) => list.some(({ isRight }) => isRight))
  const size = useful[0]?.[0]?.values.length ?? 0
  return minimized(size, STEPS, (weights, gradient) => {
    for (const list of useful) {
      const scores = list.map(({ values }) => dot(weights, values))
      const most = Math.max(...scores)
      const shares = scores.map((score) => Math.exp(score - most))
      const all = shares.reduce((sum, value) => sum + value, 0)
      const right = shares.reduce((sum, value, at) => sum + (list[at]?.isRight ? value : 0), 0)
      for (const [index, { values, isRight }] of list.entries()) {
        const part = (shares[index] ?? 0) / all - (isRight ? (shares[index] ?? 0) / right : 0)
        for (let at = 0; at < size; at += 1) {
          gradient[at] = (gradient[at] ?? 0) + (part * (values[at] ?? 0)) / useful.length
        }
      }
    }
  })
}

export function fitLogistic(rows: readonly (Row & { readonly weight: number })[]) {
  const size = rows[0]?.values.length ?? 0
  const whole = rows.reduce((sum, { weight }) => sum + weight, 0)
  const probability = (weights: Float64Array, values: readonly number[]) => {
    return 1 / (1 + Math.exp(-dot(weights, values)))
  }
  const weights = minimized(size, STEPS, (at, gradient) => {
    for (const { values, isRight, weight } of rows) {
      const error = (weight * (probability(at, values) - Number(isRight))) / whole
      for (let index = 0; index < size; index += 1) {
        gradient[index] = (gradient[index] ?? 0) + error * (values[index] ?? 0)
      }
    }
  })
  return { weights, score: (values: readonly number[]) => probability(weights, values) }
}

/** Rounds the weights, because further digits change nothing. */
export function named<Name extends string>(
  names: readonly Name[],
  weights: Float64Array,
): Readonly<Record<Name, number>> {
  const entries = names.map((name, at) => [name, Math.round((weights[at] ?? 0) * 1000) / 1000])
  return Object.fromEntries(entries) as Readonly<Record<Name, number>>
}
