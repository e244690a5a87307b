/** How long the stages of a SELECT took, in milliseconds. */
export interface StageTimes {
  /** From text to a statement: only where no plan of it was cached. */
  plan: number
  embed: number
  /** Finding the nearest chunks and the keyword hits in memory. */
  candidates: number
  rerank: number
  /** What the database did: it reads the rows, and scans where memory has no answer. */
  rows: number
}

/** Adds up the times of one SELECT's stages. Stages may overlap. */
export class StageTimer {
  readonly times: StageTimes = { plan: 0, embed: 0, candidates: 0, rerank: 0, rows: 0 }
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async time<T>(stage: keyof StageTimes, work: () => Promise<T>): Promise<T> {
    const startMs = this.#nowMs()
    try {
      return await work()
    } finally {
      this.times[stage] += this.#nowMs() - startMs
    }
  }
}
