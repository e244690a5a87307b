import { AppError } from '../errors.ts'

/**
 * One signal for all that ends a question: its time, its client, the server's end. Its reason is an
 * `AppError`.
 */
export class Deadline {
  readonly #abort = new AbortController()
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #forget: () => void

  constructor(seconds: number, signals: readonly AbortSignal[]) {
    const listeners = signals.map((signal) => ({
      signal,
      listener: () => this.#abort.abort(reasonOf(signal)),
    }))
    for (const { signal, listener } of listeners) {
      if (signal.aborted) listener()
      else signal.addEventListener('abort', listener, { once: true })
    }
    this.#forget = () => {
      for (const { signal, listener } of listeners) signal.removeEventListener('abort', listener)
    }
    const message = `The agent gave no answer within ${seconds} seconds`
    this.#timer = setTimeout(
      () => this.#abort.abort(new AppError('timeout', message)),
      seconds * 1000,
    )
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#forget()
  }
}

function reasonOf(signal: AbortSignal): AppError {
  const { reason } = signal
  if (reason instanceof AppError) return reason
  return new AppError('cancelled', 'The question was cancelled', { cause: reason })
}
