import type { ModelTurn } from '../../core/domain/agents/agent-run.ts'
import { BUILTIN_PROVIDER, type ModelRef } from '../../core/domain/model-ref.ts'

/** The price of a million tokens, in the currency of the table. */
export interface ModelPrice {
  /** For the model's name, or `provider/name`; `*` matches anything. */
  readonly pattern: string
  readonly input: number
  readonly output: number
  /** For cached input. */
  readonly cached: number
}

const MILLION = 1_000_000

/** null: unknown. The built-in model costs nothing. The first matching price counts. */
export function costOf(
  { provider, modelName }: Pick<ModelRef, 'provider' | 'modelName'>,
  turns: readonly Pick<ModelTurn, 'usage'>[],
  prices: readonly ModelPrice[],
): number | null {
  if (provider === BUILTIN_PROVIDER) return 0
  const price = prices.find(({ pattern }) => {
    return fitsPattern(pattern, modelName) || fitsPattern(pattern, `${provider}/${modelName}`)
  })
  if (price === undefined) return null
  let cost = 0
  for (const { usage } of turns) {
    if (usage === null) return null
    const { inputTokens, outputTokens, cachedTokens } = usage
    const cached = Math.min(cachedTokens, inputTokens)
    cost +=
      (inputTokens - cached) * price.input + cached * price.cached + outputTokens * price.output
  }
  return cost / MILLION
}

function fitsPattern(pattern: string, name: string): boolean {
  const parts = pattern.toLowerCase().split('*')
  const text = name.toLowerCase()
  const [first = '', ...rest] = parts
  const end = rest.pop()
  if (end === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return text.length - end.length >= at && text.endsWith(end)
}
