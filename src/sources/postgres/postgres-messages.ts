/** Splits PostgreSQL's stream into messages and decides which of them reach the client library. */
import { connect } from 'node:net'
import { settlesWithin } from '../../core/runtime/cancellation.ts'
import { broken, checkedSize, type WireFormat } from '../wire-messages.ts'

const HEADER_BYTES = 5
/** The most bytes of errors, notices and descriptions: of all messages except rows. */
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
/** The size of a column's description after its name. */
const FIELD_BYTES = 18

export interface CopySink {
  /** Takes whole rows. The bytes are not changed afterwards. */
  take(bytes: Uint8Array): void
  /** Called with the size of each row before its bytes arrive. */
  row(sizeBytes: number): void
}

export class PostgresMessages implements WireFormat {
  readonly headerBytes = HEADER_BYTES
  readonly #mayAskForClearText: boolean
  sink: CopySink | null = null

  /** @param mayAskForClearText whether the password may be sent in clear text */
  constructor(mayAskForClearText: boolean) {
    this.#mayAskForClearText = mayAskForClearText
  }

  /** The size in a header counts itself but not the message type before it. */
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
        // The library looks for a zero byte without checking where the message ends.
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
   * Moves consecutive rows of a COPY together. An object and an event per row would cost the most.
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
  'the server asks for the password in clear text; set sslmode to verify-full (or verify-ca), or to disable if you trust the network'

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
  return count < 0 ? broken('an invalid number of columns') : count
}

export const CANCEL_MS = 1000

const CANCEL_REQUEST = 80_877_102

/** PostgreSQL accepts it on a separate connection, before any login. */
export async function sendCancel(
  { host, port }: { readonly host: string; readonly port: number },
  processID: number,
  secretKey: number,
): Promise<void> {
  const request = Buffer.alloc(16)
  request.writeInt32BE(16, 0)
  request.writeInt32BE(CANCEL_REQUEST, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = connect({ host, port }, () => socket.end(request))
  // The server closes the socket once it has sent the signal.
  socket.on('close', () => resolve())
  socket.on('error', () => resolve())
  socket.resume()
  await settlesWithin(promise, CANCEL_MS)
  socket.destroy()
}
