import { write, writeSync } from 'node:fs'
import { systemCodeOf } from '../../core/errors.ts'

const STDOUT = 1
const BATCH_CHARS = 8192
const BATCH_MS = 100
/** How many characters may wait for a slow reader. Further lines are lost. */
const WAITING_CHARS_MAX = 4 * 1024 ** 2
const BUSY_MS = 20
const BUSY_TRIES_MAX = 50

/**
 * Writes log lines to standard output, in batches. Lines that cannot be written, for example on a
 * full disk, are lost, and stop nothing else: pino's own destination would never return from
 * `flushSync`.
 */
export class LogLines {
  #waiting = ''
  #isWriting = false
  #timer: ReturnType<typeof setTimeout> | undefined

  write(line: string): void {
    if (this.#waiting.length < WAITING_CHARS_MAX) this.#waiting += line
    this.#arrange()
  }

  /** Starts writing what waits. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isWriting || this.#waiting === '') return
    this.#isWriting = true
    this.#writeRest(this.#taken())
  }

  /** Writes what waits, unless the last batch cannot be written within a second. */
  async end(): Promise<void> {
    for (let tries = 0; this.#isWriting && tries < BUSY_TRIES_MAX; tries += 1) {
      await Bun.sleep(BUSY_MS)
    }
    this.flushSync()
  }

  /** For a process that ends at once. Without the last batch, a reader may never take more. */
  flushSync(): void {
    if (this.#isWriting) return
    const bytes = this.#taken()
    let tries = 0
    for (let at = 0; at < bytes.length && tries < BUSY_TRIES_MAX; ) {
      try {
        at += writeSync(STDOUT, bytes, at)
      } catch (error) {
        if (!isBusy(error)) return
        tries += 1
        Bun.sleepSync(BUSY_MS)
      }
    }
  }

  #arrange(): void {
    if (this.#waiting.length >= BATCH_CHARS) this.flush()
    else if (this.#waiting !== '') this.#timer ??= setTimeout(() => this.flush(), BATCH_MS)
  }

  #taken(): Buffer {
    const bytes = Buffer.from(this.#waiting)
    this.#waiting = ''
    return bytes
  }

  #writeRest(bytes: Buffer): void {
    write(STDOUT, bytes, (error, count) => {
      const rest = error === null ? bytes.subarray(count) : bytes
      if (isBusy(error)) setTimeout(() => this.#writeRest(rest), BUSY_MS)
      else if (error === null && rest.length > 0) this.#writeRest(rest)
      else {
        this.#isWriting = false
        this.#arrange()
      }
    })
  }
}

/** Whether standard output is a pipe that its reader has not emptied. */
function isBusy(error: unknown): boolean {
  return systemCodeOf(error) === 'EAGAIN'
}
