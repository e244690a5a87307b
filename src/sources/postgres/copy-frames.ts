/**
 * Stands between a socket and the library's parser, which makes an object and an event of each row of a COPY: that is
 * most of what a million rows cost. Rows are taken out of their frames here, many at once, and everything else goes on to
 * the parser as it came.
 */

const HEADER_BYTES = 5
const COPY_DATA = 0x64

export interface CopySink {
  /** Bytes of rows, which may be parts of rows; they are not changed afterwards. */
  take(bytes: Uint8Array): void
  /** Each row before its bytes, by its size. */
  row(sizeBytes: number): void
}

export class CopyFrames {
  readonly #pass: (bytes: Buffer) => void
  /** While a COPY runs. */
  sink: CopySink | null = null
  /** A header that is not whole yet. */
  readonly #head = Buffer.alloc(HEADER_BYTES)
  #headBytes = 0
  /** What is still to come of a frame. */
  #left = 0
  #isCopyData = false

  /** @param pass gets what is not of a COPY, in its order */
  constructor(pass: (bytes: Buffer) => void) {
    this.#pass = pass
  }

  take(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#left > 0) at = this.#takeBody(bytes, at)
      else if (this.#headBytes > 0 || bytes.length - at < HEADER_BYTES) {
        at = this.#takeHeadPart(bytes, at)
      } else if (this.sink !== null && bytes[at] === COPY_DATA) at = this.#takeRows(bytes, at)
      else at = this.#takeOthers(bytes, at)
    }
  }

  /** Of a frame whose header was in an earlier piece. */
  #takeBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    const part = bytes.subarray(at, end)
    if (this.#isCopyData) this.sink?.take(part)
    else this.#pass(part)
    return end
  }

  #takeHeadPart(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + HEADER_BYTES - this.#headBytes)
    bytes.copy(this.#head, this.#headBytes, at, end)
    this.#headBytes += end - at
    if (this.#headBytes < HEADER_BYTES) return end
    this.#headBytes = 0
    this.#begin(this.#head, 0)
    // The parser keeps what it is given.
    if (!this.#isCopyData) this.#pass(Buffer.from(this.#head))
    return end
  }

  /** Rows that follow each other are moved together, each over the header before it. */
  #takeRows(bytes: Buffer, from: number): number {
    let at = from
    let filled = from
    while (this.#left === 0 && bytes.length - at >= HEADER_BYTES && bytes[at] === COPY_DATA) {
      this.#begin(bytes, at)
      const start = at + HEADER_BYTES
      at = Math.min(bytes.length, start + this.#left)
      bytes.copyWithin(filled, start, at)
      filled += at - start
      this.#left -= at - start
    }
    if (filled > from) this.sink?.take(bytes.subarray(from, filled))
    return at
  }

  /** Whole frames for the parser, and the beginning of the last one. */
  #takeOthers(bytes: Buffer, from: number): number {
    let at = from
    while (this.#left === 0 && bytes.length - at >= HEADER_BYTES) {
      if (this.sink !== null && bytes[at] === COPY_DATA) break
      this.#begin(bytes, at)
      const start = at + HEADER_BYTES
      at = Math.min(bytes.length, start + this.#left)
      this.#left -= at - start
    }
    this.#pass(from === 0 && at === bytes.length ? bytes : bytes.subarray(from, at))
    return at
  }

  /** The size in a header counts itself and not the kind before it. A peer that lies is the parser's to refuse. */
  #begin(bytes: Buffer, at: number): void {
    this.#isCopyData = this.sink !== null && bytes[at] === COPY_DATA
    this.#left = Math.max(0, bytes.readUInt32BE(at + 1) - (HEADER_BYTES - 1))
    if (this.#isCopyData) this.sink?.row(this.#left)
  }
}
