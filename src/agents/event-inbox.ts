import type { AppError } from '../errors.ts'
import type { ReceivedEvent } from './protocol.ts'

type Waiting = PromiseWithResolvers<ReceivedEvent>

/** Events on their way from a worker to a client that reads them at its own speed. */
export class EventInbox {
  readonly #waitingMax: number
  readonly #events: ReceivedEvent[] = []
  #reader: Waiting | null = null
  #failure: unknown = null

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax
  }

  /** @returns whether there was room */
  push(event: ReceivedEvent): boolean {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) reader.resolve(event)
    else if (this.#events.length >= this.#waitingMax) return false
    else this.#events.push(event)
    return true
  }

  /** What is waiting is still read; then `take` throws this. Only the first failure counts. */
  fail(failure: AppError): void {
    this.#failure ??= failure
    this.#reader?.reject(this.#failure)
    this.#reader = null
  }

  async take(): Promise<ReceivedEvent> {
    const next = this.#events.shift()
    if (next !== undefined) return next
    if (this.#failure !== null) throw this.#failure
    this.#reader = Promise.withResolvers()
    return this.#reader.promise
  }
}
