import type { TokenCounter } from '../../core/domain/ports/model-ports.ts'

/** How long a span of text may be. */
export interface SpanLimits {
  readonly chunkSizeChars: number
  readonly chunkOverlapChars: number
  /** null: only characters count. */
  readonly tokens: TokenBudget | null
  /** Where to cut, the best first; '' is anywhere. Missing: at paragraphs, lines, sentences and words. */
  readonly separators?: readonly string[]
}

export interface TokenBudget {
  readonly counter: TokenCounter
  readonly tokensMax: number
  /** What stands before a chunk has a share of these. */
  readonly tokensAtOnce: number
}

/** How far a span from `start` may reach, at most `end`. `start`: its first word has more tokens than there may be. */
export function reachOf(text: string, start: number, end: number, limits: SpanLimits): number {
  const last = Math.min(end, start + limits.chunkSizeChars)
  if (limits.tokens === null) return last
  const { counter, tokensMax } = limits.tokens
  return counter.fit(text, start, last, tokensMax)
}

export function fits(text: string, start: number, end: number, limits: SpanLimits): boolean {
  return end - start <= limits.chunkSizeChars && reachOf(text, start, end, limits) >= end
}

/** What is left for the content where this stands before it. */
export function limitsBelow(limits: SpanLimits, context: string): SpanLimits {
  if (limits.tokens === null || context === '') return limits
  const { counter, tokensMax, tokensAtOnce } = limits.tokens
  const taken = counter.count(context)
  const [left, leftAtOnce] = [tokensMax, tokensAtOnce].map((max) => Math.max(1, max - taken))
  return { ...limits, tokens: { counter, tokensMax: left ?? 1, tokensAtOnce: leftAtOnce ?? 1 } }
}

/** A token has a byte at least. */
export const BYTE_COUNTER: TokenCounter = {
  count: (text) => Buffer.byteLength(text),
  fit(text, start, end, tokensMax) {
    let bytes = 0
    for (let at = start; at < end; ) {
      const code = text.codePointAt(at) ?? 0
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
      if (bytes > tokensMax) return at
      at += code > 0xffff ? 2 : 1
    }
    return end
  },
}
