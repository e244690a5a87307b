/** How MySQL parts its messages, and which of them its client library may be given. */
import { broken, checkedSize, type WireFormat } from '../wire-messages.ts'

const HEADER_BYTES = 4
/** A packet of this size is followed by another one of the same message. */
const CONTINUED = 0xffffff
const ERROR_BYTES_MAX = 64 * 1024
const ERROR = 0xff
const EOF = 0xfe
/** Of a packet that begins as an end does, and is one. */
const EOF_PACKET_BYTES_MAX = 12
const NULL = 0xfb
/** Bytes of a size by the mark before it. */
const SIZE_BYTES: Readonly<Record<number, number>> = { 252: 2, 253: 3 }

export class MysqlPackets implements WireFormat {
  readonly headerBytes = HEADER_BYTES
  /** Of the rows that come; null: none come. */
  #columnCount: number | null = null
  /** Of rows that come: their description has not ended. */
  #isDescribed = false

  expectRows(columnCount: number): void {
    this.#columnCount = columnCount
    this.#isDescribed = false
  }

  sizeOf(bytes: Buffer, at: number): number {
    const size = bytes.readUIntLE(at, 3)
    return checkedSize(size === CONTINUED ? Infinity : size) + HEADER_BYTES
  }

  check(packet: Buffer): number {
    if (packet.length === HEADER_BYTES) broken('an empty packet')
    if (packet[HEADER_BYTES] === ERROR) {
      checkedSize(packet.length, ERROR_BYTES_MAX)
      this.#columnCount = null
      return 0
    }
    if (this.#columnCount === null) return 0
    if (packet[HEADER_BYTES] === EOF && packet.length <= EOF_PACKET_BYTES_MAX) {
      if (this.#isDescribed) this.#columnCount = null
      this.#isDescribed = true
      return 0
    }
    if (!this.#isDescribed) return 0
    requireValues(packet, this.#columnCount)
    return this.#columnCount
  }
}

/** The library takes a value from behind its packet where a size says so. */
function requireValues(packet: Buffer, count: number): void {
  let at = HEADER_BYTES
  for (let index = 0; index < count; index += 1) {
    const mark = packet[at]
    if (mark === undefined) broken('a row that ends in its values')
    at += 1
    if (mark === NULL) continue
    const sizeBytes = SIZE_BYTES[mark] ?? 0
    if (mark > NULL && sizeBytes === 0) broken('a value without a size')
    if (at + sizeBytes > packet.length) broken('a row that ends in its values')
    at += sizeBytes === 0 ? mark : sizeBytes + packet.readUIntLE(at, sizeBytes)
  }
  if (at !== packet.length) broken('a row whose values have another size')
}
