/**
 * Sits between a socket and a client library. Passes a server's messages on only if complete,
 * checked and within limits, without blocking the thread for long.
 */
import { TimeSlice } from '../core/runtime/serial-queue.ts'

/** The most bytes in one message of a server, which is usually a row. */
export const MESSAGE_BYTES_MAX = 16 * 1024 ** 2
/** The limit for rows that no reader has taken yet, as an estimate of their memory. */
const UNREAD_BYTES_MAX = 128 * 1024 ** 2
const MESSAGE_COST_BYTES = 200
const VALUE_COST_BYTES = 40
/** A session with this much unread data triggers a collection; the heap would keep it for long. */
const COLLECTED_BYTES = 32 * 1024 ** 2
/** After this time, the client library no longer refers to the rows. */
const COLLECT_MS = 100
/** How long to work per turn of the event loop. */
const TURN_MS = 4
const WIRE_COLUMNS_MAX = 4096
const COLUMN_NAME_CHARS_MAX = 1000

/** How a protocol separates its messages. If it throws an error, the session ends. */
export interface WireFormat {
  readonly headerBytes: number
  sizeOf(bytes: Buffer, at: number): number
  /** @returns how many values it contains, or null if the library must not get it */
  check(message: Buffer): number | null
  /** Skips messages from `at` on that the library never gets. @returns where the others start */
  skip?(bytes: Buffer, at: number): number
}

export interface WireStream {
  pause(): unknown
  resume(): unknown
  destroy(error?: Error): unknown
}

export class WireMessages {
  readonly #format: WireFormat
  readonly #stream: () => WireStream
  readonly #pass: (message: Buffer) => void
  readonly #pieces: Buffer[] = []
  /** The position within the first piece. */
  #at = 0
  #waitingBytes = 0
  #unreadBytes = 0
  #turn: TimeSlice | null = null
  #isHeld = false
  #isPassing = false
  #isPaused = false
  #hasEnded = false

  /** @param pass the library's parser, which gets one whole message at a time */
  constructor(format: WireFormat, stream: () => WireStream, pass: (message: Buffer) => void) {
    this.#format = format
    this.#stream = stream
    this.#pass = pass
  }

  take(bytes: Buffer): void {
    if (this.#hasEnded) return
    this.#pieces.push(bytes)
    this.#waitingBytes += bytes.length
    this.#go()
  }

  /** Holds messages back until `release`. Meanwhile the server waits. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#go()
  }

  /** Restarts the count of unread bytes. Call when a reader takes a row, or a statement begins. */
  noteTaken(): void {
    this.#unreadBytes = 0
  }

  /** Stops reading and drops what was read. */
  end(error?: Error): void {
    this.#hasEnded = true
    this.#pieces.length = 0
    this.#waitingBytes = 0
    this.#stream().destroy(error)
    if (this.#unreadBytes > COLLECTED_BYTES) setTimeout(() => Bun.gc(true), COLLECT_MS).unref()
  }

  #go(): void {
    if (this.#isPassing || this.#hasEnded) return
    this.#isPassing = true
    try {
      this.#turn ??= this.#begunTurn()
      let hasMore = true
      while (hasMore && !this.#isHeld && !this.#turn.isSpent) hasMore = this.#passNext()
      this.#setPaused(hasMore)
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)))
    } finally {
      this.#isPassing = false
    }
  }

  #begunTurn(): TimeSlice {
    setImmediate(() => {
      this.#turn = null
      if (this.#isPaused) this.#go()
    })
    return new TimeSlice(TURN_MS)
  }

  #setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    if (isPaused) this.#stream().pause()
    else this.#stream().resume()
  }

  /** @returns false if no complete message is available */
  #passNext(): boolean {
    const { headerBytes, skip } = this.#format
    if (this.#waitingBytes < headerBytes) return false
    const first = this.#firstWith(headerBytes)
    const after = skip?.(first, this.#at) ?? this.#at
    if (after > this.#at) {
      this.#waitingBytes -= after - this.#at
      this.#at = after
      this.#dropRead(first)
      return true
    }
    const size = this.#format.sizeOf(first, this.#at)
    if (this.#waitingBytes < size) return false
    const whole = this.#firstWith(size)
    const message = whole.subarray(this.#at, this.#at + size)
    this.#at += size
    this.#waitingBytes -= size
    this.#dropRead(whole)
    const valueCount = this.#format.check(message)
    if (valueCount === null) return true
    this.#unreadBytes += size + MESSAGE_COST_BYTES + valueCount * VALUE_COST_BYTES
    if (this.#unreadBytes > UNREAD_BYTES_MAX) {
      throw new Error(
        `the server sends more than ${megabytes(UNREAD_BYTES_MAX)} that was not asked for`,
      )
    }
    this.#pass(message)
    return true
  }

  /** Returns the first piece after making it hold this many bytes from `#at` on. */
  #firstWith(size: number): Buffer {
    let count = 1
    let bytes = (this.#pieces[0]?.length ?? 0) - this.#at
    while (bytes < size && count < this.#pieces.length) {
      bytes += this.#pieces[count]?.length ?? 0
      count += 1
    }
    if (count > 1) {
      const [first = Buffer.alloc(0), ...others] = this.#pieces.slice(0, count)
      const last = others.pop() ?? Buffer.alloc(0)
      // Do not copy all of the last piece, because it may hold thousands of messages.
      const missing = last.length - (bytes - size)
      const joined = [first.subarray(this.#at), ...others, last.subarray(0, missing)]
      this.#pieces.splice(0, count, Buffer.concat(joined), last.subarray(missing))
      this.#at = 0
    }
    return this.#pieces[0] ?? Buffer.alloc(0)
  }

  #dropRead(first: Buffer): void {
    if (this.#at < first.length) return
    this.#pieces.shift()
    this.#at = 0
  }
}

/** @throws Error for a message larger than the limit */
export function checkedSize(size: number, sizeMax = MESSAGE_BYTES_MAX): number {
  if (size <= sizeMax) return size
  const hint = sizeMax === MESSAGE_BYTES_MAX ? '; read fewer columns, or parts of them' : ''
  throw new Error(`the server sends a message of more than ${megabytes(sizeMax)}${hint}`)
}

/** @throws Error */
export function broken(how: string): never {
  throw new Error(`the server breaks its protocol: ${how}`)
}

/** @throws Error for too many columns, before they are read and stored */
export function checkedColumnCount(count: number): void {
  if (count <= WIRE_COLUMNS_MAX) return
  throw new Error(`the result has more than ${WIRE_COLUMNS_MAX} columns; name those you need`)
}

/** @throws Error for more columns than any table has */
export function checkedFields<Field extends { readonly name: string }>(
  fields: readonly Field[],
): readonly Field[] {
  checkedColumnCount(fields.length)
  if (fields.some(({ name }) => name.length > COLUMN_NAME_CHARS_MAX)) {
    throw new Error(`a column's name has more than ${COLUMN_NAME_CHARS_MAX} characters`)
  }
  return fields
}

function megabytes(bytes: number): string {
  return bytes < 1024 ** 2 ? `${bytes / 1024} KB` : `${bytes / 1024 ** 2} MB`
}
