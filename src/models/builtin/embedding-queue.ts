/**
 * A job of at most this many tokens (a query, the sentences of an answer) overtakes larger ones.
 */
const SMALL_JOB_TOKENS_MAX = 1024
/** A large job gets its turn after this many texts of small ones in a row. */
const OVERTAKES_MAX = 32

interface Job {
  readonly id: number
  readonly sequences: readonly (readonly number[])[]
  readonly vectors: Float32Array[]
  readonly isSmall: boolean
}

/** The text that is to be embedded now. */
export interface EmbeddingTask {
  readonly jobId: number
  readonly tokens: readonly number[]
  /** @returns all vectors of the job in the order of its texts, with the last one. */
  complete(vector: Float32Array): readonly Float32Array[] | null
}

/** Which text is embedded next: small jobs overtake large ones, jobs of one size take turns. */
export class EmbeddingQueue {
  #jobs: Job[] = []
  #overtakes = 0

  add(id: number, sequences: readonly (readonly number[])[]): void {
    const tokenCount = sequences.reduce((sum, tokens) => sum + tokens.length, 0)
    const isSmall = tokenCount <= SMALL_JOB_TOKENS_MAX
    this.#jobs.push({ id, sequences, vectors: [], isSmall })
  }

  /** Drops what is not embedded yet. */
  cancel(id: number): void {
    this.#jobs = this.#jobs.filter((job) => job.id !== id)
  }

  next(): EmbeddingTask | null {
    const job = this.#nextJob()
    const tokens = job?.sequences[job.vectors.length]
    if (job === undefined || tokens === undefined) return null
    this.cancel(job.id)
    // To the end of the line, so that others have their turn; gone with its last text.
    if (job.vectors.length + 1 < job.sequences.length) this.#jobs.push(job)
    return {
      jobId: job.id,
      tokens,
      complete(vector) {
        job.vectors.push(vector)
        return job.vectors.length === job.sequences.length ? job.vectors : null
      },
    }
  }

  #nextJob(): Job | undefined {
    const small = this.#jobs.find((job) => job.isSmall)
    const large = this.#jobs.find((job) => !job.isSmall)
    const isLargeDue = large !== undefined && this.#overtakes >= OVERTAKES_MAX
    const job = small === undefined || isLargeDue ? large : small
    this.#overtakes = job?.isSmall && large !== undefined ? this.#overtakes + 1 : 0
    return job
  }
}
