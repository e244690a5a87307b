import type { TextLayout } from '../../core/domain/document.ts'
import { oneLine } from '../../core/short-text.ts'
import type { LimitsUnder } from './chunk-markdown.ts'
import { limitsBelow, type SpanLimits } from './span-limits.ts'
import type { TextPiece } from './text-piece.ts'

export const HEADING_JOINT = ' > '

/** Of what the model reads at once: so much of it may be title and headings. */
const CONTEXT_SHARE = 0.25
const CONTEXT_CHARS_MAX = 400

/** What stands before a chunk when it is embedded: the title, the headings above it, and what is repeated. */
export class ChunkContext {
  readonly #title: string
  readonly #limits: SpanLimits
  readonly #known = new Map<string, string>()
  readonly #limitsBelow = new Map<string, SpanLimits>()

  constructor(layout: Pick<TextLayout, 'title'> | undefined, limits: SpanLimits) {
    this.#title = oneLine(layout?.title ?? '')
    this.#limits = limits
  }

  /** What is left for the content under these headings. */
  readonly limitsUnder: LimitsUnder = (headings) => {
    const context = this.#path(headings)
    const known = this.#limitsBelow.get(context)
    if (known !== undefined) return known
    const below = limitsBelow(this.#limits, context)
    this.#limitsBelow.set(context, below)
    return below
  }

  of({ above, repeated }: Pick<TextPiece, 'above' | 'repeated'>): string {
    return [this.#path(above), repeated].filter((part) => part !== '').join('\n')
  }

  #path(headings: readonly string[]): string {
    const key = headings.join('\n')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const path = this.#shortened(headings)
    this.#known.set(key, path)
    return path
  }

  /** The inner headings and the title say more than what is between them. */
  #shortened(headings: readonly string[]): string {
    const own = isSame(headings[0], this.#title) ? headings.slice(1) : headings
    for (let skipped = 0; skipped < own.length; skipped += 1) {
      const path = this.#joined(own.slice(skipped))
      if (this.#isShort(path)) return path
    }
    const last = own.at(-1)
    return this.#cut(this.#joined(last === undefined ? [] : [last]))
  }

  #joined(headings: readonly string[]): string {
    return [this.#title, headings.join(HEADING_JOINT)].filter((part) => part !== '').join('\n')
  }

  #isShort(path: string): boolean {
    return this.#cut(path) === path
  }

  #cut(path: string): string {
    const last = Math.min(path.length, CONTEXT_CHARS_MAX)
    const { tokens } = this.#limits
    if (tokens === null) return path.slice(0, last).toWellFormed()
    const tokensMax = Math.floor(tokens.tokensAtOnce * CONTEXT_SHARE)
    return path
      .slice(0, tokens.counter.fit(path, 0, last, tokensMax))
      .trimEnd()
      .toWellFormed()
  }
}

function isSame(heading: string | undefined, title: string): boolean {
  return heading?.toLowerCase() === title.toLowerCase()
}
