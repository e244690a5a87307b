/** Messages of the PostgreSQL protocol 3 (its manual, "Frontend/Backend Protocol"): what a client sends, and what it gets. */

/** Longest message of a client: a statement, the values of its parameters, or a piece of COPY. */
export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024
/** Longest start-up packet or password, before login. */
export const FIRST_BYTES_MAX = 10_000

export const SSL_REQUEST = 80877103
export const GSS_REQUEST = 80877104
export const CANCEL_REQUEST = 80877102
export const PROTOCOL_3 = 196608
/** Of protocol 3: the newest supported version. It has longer keys for cancelling. */
export const PROTOCOL_MINOR = 2

/** A message that breaks the protocol: the connection must end. */
export class ProtocolError extends Error {}

export interface Message {
  /** The letter of its kind; empty: a start-up packet, which has none. */
  readonly kind: string
  readonly body: Buffer
}

/** Cuts what a connection receives into messages, however it was split over packets. */
export class MessageReader {
  #pieces: Buffer[] = []
  #size = 0
  /** The first packets have no letter and precede the login. */
  hasStarted = false
  /** Whether the client has logged in: only then may messages be long. */
  isKnown = false

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#size += piece.length
  }

  /** undefined: it has not arrived whole. @throws ProtocolError */
  next(): Message | undefined {
    const prefix = this.hasStarted ? 1 : 0
    if (this.#size < prefix + 4) return undefined
    const head = this.#first(prefix + 4)
    const length = head.readInt32BE(prefix)
    const max = this.isKnown ? MESSAGE_BYTES_MAX : FIRST_BYTES_MAX
    if (length < 4 || length > max) throw new ProtocolError(`invalid message length ${length}`)
    if (this.#size < prefix + length) return undefined
    const whole = this.#first(prefix + length)
    this.#drop(prefix + length)
    const kind = prefix === 0 ? '' : String.fromCharCode(whole[0] ?? 0)
    return { kind, body: whole.subarray(prefix + 4, prefix + length) }
  }

  /** Bytes received and not read. */
  get pending(): number {
    return this.#size
  }

  #first(length: number): Buffer {
    const [first = Buffer.alloc(0)] = this.#pieces
    if (first.length >= length || this.#pieces.length === 1) return first
    // Joined once per message: pieces of a long one wait for the last.
    const whole = Buffer.concat(this.#pieces, this.#size)
    this.#pieces = [whole]
    return whole
  }

  #drop(length: number): void {
    const [first = Buffer.alloc(0), ...rest] = this.#pieces
    this.#size -= length
    this.#pieces = first.length > length ? [first.subarray(length), ...rest] : rest
  }
}

/** Reads the fields of one message. */
export class Fields {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  /** Unsigned: a statement may have 65,535 parameters. */
  int16(): number {
    return this.#body.readUInt16BE(this.#take(2))
  }

  int32(): number {
    return this.#body.readInt32BE(this.#take(4))
  }

  text(): string {
    const end = this.#body.indexOf(0, this.#at)
    if (end === -1) throw new ProtocolError('a text has no end')
    const text = this.#body.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }

  /** `length` bytes; -1 is null. */
  bytes(length: number): Buffer | null {
    if (length === -1) return null
    const at = this.#take(length)
    return this.#body.subarray(at, at + length)
  }

  rest(): Buffer {
    return this.#body.subarray(this.#at)
  }

  #take(length: number): number {
    const at = this.#at
    if (length < 0 || at + length > this.#body.length)
      throw new ProtocolError('a message is too short')
    this.#at = at + length
    return at
  }
}

const FIRST_ROOM = 512
/** Output is sent once it exceeds this. */
const SENT_BYTES = 64 * 1024

/** Messages for a client, in one buffer. */
export class MessageWriter {
  #buffer = Buffer.allocUnsafe(FIRST_ROOM)
  #at = 0
  #start = 0
  #isOpen = false

  get size(): number {
    return this.#at
  }

  /** It is time to send what is written. */
  get isFull(): boolean {
    return this.#at > SENT_BYTES
  }

  /** Drops a message begun but not ended because one of its values could not be written. */
  begin(kind: string): this {
    if (this.#isOpen) this.#at = this.#start - 1
    this.#isOpen = true
    this.#room(5)
    this.#start = this.#at + 1
    this.#buffer[this.#at] = kind.charCodeAt(0)
    this.#at += 5
    return this
  }

  end(): this {
    this.#isOpen = false
    this.#buffer.writeInt32BE(this.#at - this.#start, this.#start)
    return this
  }

  int16(value: number): this {
    this.#room(2)
    // Some counts are unsigned: a message may have 65,535 parameters.
    this.#at = this.#buffer.writeUInt16BE(value & 0xffff, this.#at)
    return this
  }

  int32(value: number): this {
    this.#room(4)
    this.#at = this.#buffer.writeInt32BE(value | 0, this.#at)
    return this
  }

  /** A number if it is a safe integer, as most are: bigints are slow. */
  int64(value: bigint | number): this {
    this.#room(8)
    if (typeof value === 'bigint') {
      this.#at = this.#buffer.writeBigInt64BE(value, this.#at)
      return this
    }
    const high = Math.floor(value / 2 ** 32)
    this.#buffer.writeInt32BE(high, this.#at)
    this.#at = this.#buffer.writeUInt32BE(value - high * 2 ** 32, this.#at + 4)
    return this
  }

  float32(value: number): this {
    this.#room(4)
    this.#at = this.#buffer.writeFloatBE(value, this.#at)
    return this
  }

  float64(value: number): this {
    this.#room(8)
    this.#at = this.#buffer.writeDoubleBE(value, this.#at)
    return this
  }

  byte(value: number): this {
    this.#room(1)
    this.#at = this.#buffer.writeUInt8(value, this.#at)
    return this
  }

  /** Including the final zero. */
  text(value: string): this {
    // A zero within would end it early.
    const plain = value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
    this.#room(plain.length * 3 + 1)
    this.#at += this.#buffer.write(plain, this.#at, 'utf8')
    return this.byte(0)
  }

  /** A value, prefixed with its length; null has none. */
  value(value: string | Uint8Array | null): this {
    if (value === null) return this.int32(-1)
    if (typeof value !== 'string') {
      this.#room(value.length + 4)
      this.#at = this.#buffer.writeInt32BE(value.length, this.#at)
      return this.raw(value)
    }
    this.#room(value.length * 3 + 4)
    const length = this.#buffer.write(value, this.#at + 4, 'utf8')
    this.#buffer.writeInt32BE(length, this.#at)
    this.#at += length + 4
    return this
  }

  /** For a value whose length is known only once it is written. @returns the argument of `endValue` */
  startValue(): number {
    const start = this.#at
    this.int32(0)
    return start
  }

  endValue(start: number): void {
    this.#buffer.writeInt32BE(this.#at - start - 4, start)
  }

  raw(bytes: Uint8Array): this {
    this.#room(bytes.length)
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }

  /** Everything written so far; the writer starts over. */
  take(): Buffer {
    const written = this.#buffer.subarray(0, this.#at)
    this.#buffer = Buffer.allocUnsafe(FIRST_ROOM)
    this.#at = 0
    return written
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}
