/** How PostgreSQL parts its messages, and which of them its client library may be given. */
import { broken, checkedSize, type WireFormat } from '../wire-messages.ts'

const HEADER_BYTES = 5
/** Errors, notices, descriptions: all but rows. */
const OTHERS_BYTES_MAX = 1024 ** 2
const KIND = {
  copyData: 0x64,
  dataRow: 0x44,
  error: 0x45,
  notice: 0x4e,
  description: 0x54,
  login: 0x52,
} as const
const CLEAR_TEXT_PASSWORD = 3
/** For a column's description, after its name. */
const FIELD_BYTES = 18

export interface CopySink {
  /** Whole rows; they are not changed afterwards. */
  take(bytes: Uint8Array): void
  /** Each row before its bytes, by its size. */
  row(sizeBytes: number): void
}

export class PostgresMessages implements WireFormat {
  readonly headerBytes = HEADER_BYTES
  readonly #mayAskForClearText: boolean
  /** While a COPY runs. */
  sink: CopySink | null = null

  /** @param mayAskForClearText whether the password itself may be sent */
  constructor(mayAskForClearText: boolean) {
    this.#mayAskForClearText = mayAskForClearText
  }

  /** The size in a header counts itself and not the kind before it. */
  sizeOf(bytes: Buffer, at: number): number {
    const size = bytes.readUInt32BE(at + 1) + 1
    if (size < HEADER_BYTES) broken(`a message of ${size - 1} bytes`)
    const isRow = bytes[at] === KIND.copyData || bytes[at] === KIND.dataRow
    return checkedSize(size, isRow ? undefined : OTHERS_BYTES_MAX)
  }

  check(message: Buffer): number | null {
    switch (message[0]) {
      case KIND.dataRow:
        return rowValues(message)
      case KIND.description:
        requireFields(message)
        return 0
      case KIND.error:
      case KIND.notice:
        // The library searches the end without checking the size.
        if (message.length > HEADER_BYTES + 1 && message.at(-2) !== 0)
          broken('an error without end')
        if (message.at(-1) !== 0) broken('an error without end')
        return 0
      case KIND.login:
        if (message.length < HEADER_BYTES + 4) broken('a login without a method')
        if (
          message.readInt32BE(HEADER_BYTES) === CLEAR_TEXT_PASSWORD &&
          !this.#mayAskForClearText
        ) {
          throw new Error(CLEAR_TEXT_REFUSED)
        }
        return 0
      case KIND.copyData:
        if (this.sink === null) return 0
        this.sink.row(message.length - HEADER_BYTES)
        this.sink.take(message.subarray(HEADER_BYTES))
        return null
      default:
        return 0
    }
  }

  /**
   * The library makes an object and an event of each row of a COPY, which is most of what a million rows cost. Rows that follow
   * each other are moved together instead, each over the header before it.
   */
  readonly skip = (bytes: Buffer, from: number): number => {
    const { sink } = this
    if (sink === null) return from
    let at = from
    let filled = from
    while (bytes.length - at >= HEADER_BYTES && bytes[at] === KIND.copyData) {
      const end = at + this.sizeOf(bytes, at)
      if (end > bytes.length) break
      sink.row(end - at - HEADER_BYTES)
      bytes.copyWithin(filled, at + HEADER_BYTES, end)
      filled += end - at - HEADER_BYTES
      at = end
    }
    if (filled > from) sink.take(bytes.subarray(from, filled))
    return at
  }
}

const CLEAR_TEXT_REFUSED =
  'the server asks for the password in clear text; set sslmode to verify-full (or verify-ca), or to disable where the network is trusted'

/** How many values a row has. */
function rowValues(message: Buffer): number {
  let at = HEADER_BYTES + 2
  const count = countOf(message)
  for (let index = 0; index < count; index += 1) {
    if (at + 4 > message.length) broken('a row that ends in its values')
    const size = message.readInt32BE(at)
    if (size < -1) broken(`a value of ${size} bytes`)
    at += 4 + Math.max(0, size)
  }
  if (at !== message.length) broken('a row whose values have another size')
  return count
}

function requireFields(message: Buffer): void {
  let at = HEADER_BYTES + 2
  const count = countOf(message)
  for (let index = 0; index < count; index += 1) {
    const end = message.indexOf(0, at)
    if (end === -1) broken('a description that ends in a name')
    at = end + 1 + FIELD_BYTES
  }
  if (at !== message.length) broken('a description whose columns have another size')
}

function countOf(message: Buffer): number {
  const count = message.length < HEADER_BYTES + 2 ? -1 : message.readInt16BE(HEADER_BYTES)
  return count < 0 ? broken('a count of columns that is none') : count
}
