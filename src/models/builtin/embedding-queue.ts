/**
 * Padded tokens (texts × longest) of one batch: what a query waits for at most, about 60 ms on two cores. Larger
 * batches are no faster.
 */
export const BATCH_TOKENS_MAX = 512
/** A job of at most this many padded tokens (a query, the sentences of an answer) overtakes larger ones. */
const SMALL_JOB_TOKENS_MAX = 2048
/** A large job gets its turn after this many batches of small ones in a row. */
const OVERTAKES_MAX = 8

interface Job {
  readonly id: number
  /** Not yet embedded, the longest first, so that `pop` takes the shortest. */
  readonly waiting: Sequence[]
  readonly vectors: (Float32Array | undefined)[]
  readonly isSmall: boolean
}

interface Sequence {
  readonly index: number
  readonly tokens: readonly number[]
}

/** Some sequences of one job, ready to be embedded together. */
export interface Batch {
  readonly jobId: number
  readonly sequences: readonly (readonly number[])[]
  /** @returns all vectors of the job in the order of its texts, once the last batch is in. */
  complete(vectors: readonly Float32Array[]): readonly Float32Array[] | null
}

/**
 * Which texts are embedded next. Small jobs overtake large ones; jobs of one
 * kind take turns, batch by batch. Texts of different jobs never share a batch: a vector does not depend on strangers.
 */
export class EmbeddingQueue {
  #jobs: Job[] = []
  #overtakes = 0

  add(id: number, sequences: readonly (readonly number[])[]): void {
    const waiting = sequences
      .map((tokens, index) => ({ index, tokens }))
      .sort((a, b) => b.tokens.length - a.tokens.length)
    const longest = waiting[0]?.tokens.length ?? 0
    const isSmall = longest * waiting.length <= SMALL_JOB_TOKENS_MAX
    this.#jobs.push({ id, waiting, vectors: sequences.map(() => undefined), isSmall })
  }

  /** Drops what is not embedded yet. */
  cancel(id: number): void {
    this.#jobs = this.#jobs.filter((job) => job.id !== id)
  }

  next(): Batch | null {
    const job = this.#nextJob()
    if (job === undefined) return null
    this.#jobs = this.#jobs.filter((other) => other !== job)
    const batch = shortestOf(job.waiting)
    if (job.waiting.length > 0) this.#jobs.push(job)
    return {
      jobId: job.id,
      sequences: batch.map((sequence) => sequence.tokens),
      complete: (vectors) => {
        for (const [position, sequence] of batch.entries()) {
          job.vectors[sequence.index] = vectors[position]
        }
        const done = job.vectors.filter((vector) => vector !== undefined)
        return done.length === job.vectors.length ? done : null
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

/** Takes the shortest sequences off the list, as many as one batch holds and at least one. */
function shortestOf(waiting: Sequence[]): readonly Sequence[] {
  const batch: Sequence[] = []
  for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
    // In ascending order the newest is the longest: it sets the padding of all.
    const paddedTokens = (batch.length + 1) * next.tokens.length
    if (batch.length > 0 && paddedTokens > BATCH_TOKENS_MAX) break
    batch.push(next)
    waiting.pop()
  }
  return batch
}
