/**
 * Runs one task at a time. While it runs, only the newest of those that came waits for its end: so what is shown follows the
 * keys as fast as the server answers, and no faster. One that takes long is given up for what is newer.
 */
type Task = (signal: AbortSignal) => Promise<void>

export class LatestOnly {
  readonly #patienceMs: number
  #running: AbortController | undefined
  #next: Task | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param patienceMs how long a newer task waits for one that runs */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  /** @param task must not throw */
  run(task: Task): void {
    if (this.#running === undefined) {
      this.#start(task)
      return
    }
    this.#next = task
    this.#timer ??= setTimeout(() => this.#giveUp(), this.#patienceMs)
  }

  /** Nothing that was asked for is wanted any more. */
  stop(): void {
    this.#next = undefined
    this.#giveUp()
  }

  #start(task: Task): void {
    const running = new AbortController()
    this.#running = running
    task(running.signal).finally(() => this.#ended(running))
  }

  #giveUp(): void {
    const running = this.#running
    if (running === undefined) return
    running.abort(new DOMException('Another search', 'AbortError'))
    this.#ended(running)
  }

  #ended(running: AbortController): void {
    if (this.#running !== running) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running = undefined
    const next = this.#next
    this.#next = undefined
    if (next !== undefined) this.#start(next)
  }
}
