/** Jobs of at most this many tokens (a query, an answer's sentences) overtake larger ones. */
const SMALL_JOB_TOKENS_MAX = 1024
/** After this many consecutive texts of small jobs, a large job gets its turn. */
const OVERTAKES_MAX = 32

type TokenParts = readonly (readonly number[])[]

interface Job {
  readonly id: number
  readonly texts: readonly TokenParts[]
  readonly sequences: readonly (readonly number[])[]
  readonly vectors: Float32Array[]
  readonly isSmall: boolean
}

/** Chooses the next part to embed: small jobs overtake large ones, equal jobs take turns. */
export class EmbeddingQueue {
  #jobs: Job[] = []
  #overtakes = 0

  /** @param isPart whether this is part of a larger job */
  add(id: number, texts: readonly TokenParts[], isPart = false): void {
    const sequences = texts.flat()
    const tokenCount = sequences.reduce((sum, tokens) => sum + tokens.length, 0)
    const isSmall = !isPart && tokenCount <= SMALL_JOB_TOKENS_MAX
    this.#jobs.push({ id, texts, sequences, vectors: [], isSmall })
  }

  cancel(id: number): void {
    this.#jobs = this.#jobs.filter((job) => job.id !== id)
  }

  next(): {
    readonly jobId: number
    readonly tokens: readonly number[]
    /** @returns all vectors of the job in text order, once the last one is complete */
    complete(vector: Float32Array): readonly Float32Array[] | null
  } | null {
    const job = this.#nextJob()
    const tokens = job?.sequences[job.vectors.length]
    if (job === undefined || tokens === undefined) return null
    this.cancel(job.id)
    // Moves the job to the end of the queue, so that others get their turn. After its last text it
    // is removed.
    if (job.vectors.length + 1 < job.sequences.length) this.#jobs.push(job)
    return {
      jobId: job.id,
      tokens,
      complete(vector) {
        job.vectors.push(vector)
        return job.vectors.length === job.sequences.length ? textVectors(job) : null
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

function textVectors({ texts, vectors }: Job): readonly Float32Array[] {
  let first = 0
  return texts.map((parts) => {
    const own = vectors.slice(first, first + parts.length)
    first += parts.length
    const [vector] = own
    return own.length === 1 && vector !== undefined ? vector : meanVector(own, parts)
  })
}

/** The mean of the parts' vectors, weighted by their number of tokens and scaled to length 1. */
function meanVector(vectors: readonly Float32Array[], parts: TokenParts): Float32Array {
  const mean = new Float32Array(vectors[0]?.length ?? 0)
  for (const [part, vector] of vectors.entries()) {
    const weight = parts[part]?.length ?? 0
    for (const [index, value] of vector.entries()) mean[index] = (mean[index] ?? 0) + weight * value
  }
  const length = Math.hypot(...mean)
  return length === 0 ? mean : mean.map((value) => value / length)
}
