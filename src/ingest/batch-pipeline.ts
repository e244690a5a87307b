/** Batches go through two stages: while one is stored, the next one is prepared, and the one after that is gathered. */
export interface BatchStages<Batch, Ready> {
  /** @param former settles with the storing of the batch before */
  prepare(batch: Batch, former: Promise<void>): Promise<Ready>
  store(ready: Ready): Promise<void>
}

/**
 * Two batches at most are under way. They are stored in their order, and of failures the one of the first batch is thrown:
 * as if each had been stored before the next one was looked at.
 */
export class BatchPipeline<Batch, Ready> {
  readonly #stages: BatchStages<Batch, Ready>
  readonly #onFailure: (error: unknown) => void
  /** The last batch is being stored, or has failed. */
  #entered: Promise<void> = Promise.resolve()
  #stored: Promise<void> = Promise.resolve()
  #failure: { readonly error: unknown } | null = null

  /** @param onFailure is told at once: nothing more need be gathered */
  constructor(stages: BatchStages<Batch, Ready>, onFailure: (error: unknown) => void) {
    this.#stages = stages
    this.#onFailure = onFailure
  }

  /** Resolves when the batch is being prepared: the next one may be gathered. @throws the failure of an earlier batch */
  async add(batch: Batch): Promise<void> {
    await this.#entered
    if (this.#failure !== null) throw this.#failure.error
    const former = this.#stored
    const prepared = this.#stages.prepare(batch, former)
    // Thrown below, after whatever the batch before has to say.
    prepared.catch(ignore)
    const entered = former.then(() => prepared)
    this.#entered = entered.then(ignore, ignore)
    this.#stored = entered.then((ready) => this.#stages.store(ready))
    this.#stored.catch((error: unknown) => this.#fail(error))
  }

  /** Resolves when all batches are stored. @throws the failure of the first that failed */
  async end(): Promise<void> {
    await this.#stored
  }

  /** Waits for what is under way. @returns the failure of the first batch that failed; null: all are stored */
  async settled(): Promise<{ readonly error: unknown } | null> {
    await this.#stored.catch(ignore)
    return this.#failure
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return
    this.#failure = { error }
    this.#onFailure(error)
  }
}

function ignore(): void {}

/**
 * What a source gives, the next of it made while the last one is used. Whoever leaves early must have the source end soon:
 * what is being made is waited for.
 */
export async function* oneAhead<T>(source: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  const next = () => {
    const result = source.next()
    // Thrown when its turn comes.
    result.catch(ignore)
    return result
  }
  try {
    for (let ahead = next(); ; ) {
      const { value, done } = await ahead
      if (done === true) return
      ahead = next()
      yield value
    }
  } finally {
    await source.return()
  }
}
