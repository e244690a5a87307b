import type { Analyzer, Term } from '../../analysis/analyzer.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'

/** The distinct terms of a chunk with their numbers; `termCount` is the sum of these. */
export interface ChunkTerms {
  readonly frequencies: ReadonlyMap<Term, number>
  readonly termCount: number
}

/** Reading terms holds the main thread: so long at a time. */
const TURN_MS = 8

/** Counts the terms of one text after the other, and lets others run in between. */
export class TermCounter {
  readonly #reader: Analyzer
  #turnStart = performance.now()

  constructor(reader: Analyzer) {
    this.#reader = reader
  }

  async count(text: string): Promise<ChunkTerms> {
    const frequencies = new Map<Term, number>()
    let termCount = 0
    for (const terms of this.#reader.terms(text)) {
      for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + 1)
      termCount += terms.length
      if (performance.now() - this.#turnStart > TURN_MS) {
        await yieldToEventLoop()
        this.#turnStart = performance.now()
      }
    }
    return { frequencies, termCount }
  }
}
