/**
 * Reads and writes messages of the PostgreSQL protocol, version 3 (PostgreSQL manual,
 * "Frontend/Backend Protocol").
 */

/** The longest client message: a statement, its parameter values, or a piece of COPY data. */
export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024
/** The longest startup packet or password, before login. */
const FIRST_BYTES_MAX = 10_000

export const SSL_REQUEST = 80877103
export const GSS_REQUEST = 80877104
export const CANCEL_REQUEST = 80877102
export const PROTOCOL_3 = 196608
/** The newest supported minor version of protocol 3. It has longer cancel keys. */
export const PROTOCOL_MINOR = 2

/** A message that violates the protocol. The connection must end. */
export class ProtocolError extends Error {}

export interface Message {
  /** The letter of the message type; empty for a startup packet, which has none. */
  readonly kind: string
  readonly body: Buffer
}

/** Splits received bytes into messages, regardless of how packets divide them. */
export class MessageReader {
  #pieces: Buffer[] = []
  #size = 0
  /** False until the startup packet has arrived; earlier packets have no type letter. */
  hasStarted = false
  /** Whether the client has logged in. Before that, messages must be short. */
  isKnown = false

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#size += piece.length
  }

  /** Returns undefined if the next message is not complete yet. @throws ProtocolError */
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

  /** The number of received bytes that are not read yet. */
  get pending(): number {
    return this.#size
  }

  #first(length: number): Buffer {
    const [first = Buffer.alloc(0)] = this.#pieces
    if (first.length >= length || this.#pieces.length === 1) return first
    // Joined once per message, when the last piece of a long one has arrived.
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

export class Fields {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  /** Unsigned, because a statement may have 65,535 parameters. */
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

  /** The next `length` bytes; null if the length is -1. */
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
/** Buffered output is sent once it is larger than this. */
const SENT_BYTES = 64 * 1024

export class MessageWriter {
  #buffer = Buffer.allocUnsafe(FIRST_ROOM)
  #at = 0
  #start = 0
  #isOpen = false

  get size(): number {
    return this.#at
  }

  get isFull(): boolean {
    return this.#at > SENT_BYTES
  }

  /** Starts a message. Drops an unfinished message whose value could not be written. */
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
    // Masked because some counts are unsigned: a message may have 65,535 parameters.
    this.#at = this.#buffer.writeUInt16BE(value & 0xffff, this.#at)
    return this
  }

  int32(value: number): this {
    this.#room(4)
    this.#at = this.#buffer.writeInt32BE(value | 0, this.#at)
    return this
  }

  /** Pass a number if it is a safe integer, as most are, because bigints are slow. */
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

  /** Writes the terminating zero too. */
  text(value: string): this {
    // A zero byte inside would end the string early.
    const plain = value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
    this.#room(plain.length * 3 + 1)
    this.#at += this.#buffer.write(plain, this.#at, 'utf8')
    return this.byte(0)
  }

  /** Writes a value preceded by its length; null has length -1 and no bytes. */
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

  /** The length is known only after it is written. @returns the argument for `endValue` */
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

  /** Returns everything written so far and empties the buffer. */
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
