/** Parses JSON. Large texts are parsed in pieces, so that other requests run in between. */
import { parsedExactly } from '../../../core/domain/query-result.ts'
import { AppError } from '../../../core/errors.ts'
import { jsonMistake } from '../../../core/json.ts'
import { TimeSlice } from '../../../core/runtime/serial-queue.ts'

/** Deeper JSON is refused, because recursive code would run out of stack. */
const DEPTH_MAX = 200

/** Parsing this many bytes takes about a millisecond. Larger text is split into such pieces. */
const PIECE_BYTES = 128 * 1024

/** The longest allowed number or white space. */
const GAP_BYTES_MAX = 1024 * 1024

/** Limits the number of values, because they take more memory than their text. */
const VALUES_MAX = 10_000_000
const CONTAINERS_MAX = 1_000_000
const KEYS_MAX = 100_000

const SLICE_MS = 8
/** How many bytes or strings to examine between two checks of the clock. */
const STEPS_PER_LOOK = 16_384

/** No `__proto__`; integers beyond a double become strings. @throws AppError `invalid_json` */
export async function parseJson(bytes: Uint8Array, signal: AbortSignal): Promise<unknown> {
  const slice = new TimeSlice(SLICE_MS)
  const giveWay = () => slice.yieldIfSpent(signal)
  try {
    return await new PieceReader(bytes, giveWay).read()
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    const place = (await jsonMistake({ bytes, whole: 'body' }, giveWay)) ?? 'it does not parse'
    throw new AppError('invalid_json', `The body is not valid JSON: ${place}`, { cause: error })
  }
}

/** Thrown if the text does not parse. */
class NotJson extends Error {}

function tooMany(what: string): AppError {
  return new AppError('body_too_large', `The JSON has more than ${what}, the limit`)
}

function decodedText(bytes: Uint8Array, start: number, end: number): string {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: start > 0 })
    return decoder.decode(bytes.subarray(start, end))
  } catch (cause) {
    throw new AppError('invalid_json', 'The body is not valid JSON: it is not UTF-8', { cause })
  }
}

function parsePiece(text: string): unknown {
  const mayHoldProto = text.includes('__proto__') || text.includes('\\u00')
  if (mayHoldProto && PROTO_KEY.test(text)) {
    throw new AppError('invalid_json', 'The JSON has a key "__proto__", which is refused')
  }
  try {
    return parsedExactly(text)
  } catch (cause) {
    throw new NotJson('not JSON', { cause })
  }
}

/** In valid JSON a key never follows a string; a quote in a string follows a backslash. */
const PROTO_KEY =
  /(?<!\\)"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])(?:_|\\u005[fF]){2}"\s*:/

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const BLANK: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d])

/** The position after the closing quote of the string that starts here. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let quote = start; ; ) {
    quote = bytes.indexOf(QUOTE, quote + 1)
    if (quote < 0) return bytes.length
    let first = quote
    while (first > start + 1 && bytes[first - 1] === BACKSLASH) first -= 1
    if ((quote - first) % 2 === 0) return quote + 1
  }
}

/** An array or object that is not closed yet. */
interface Open {
  readonly isList: boolean
  readonly start: number
  /** Where the unparsed part starts, and where its current item starts. */
  from: number
  item: number
  /** The parsed content; null while the array or object is still small. */
  value: unknown[] | Record<string, unknown> | null
  keys: number
  /** Already in `value`: an array or object that was parsed in pieces. */
  isTaken: boolean
}

/** Consecutive items are one piece for `JSON.parse`. Only larger values are built here. */
class PieceReader {
  readonly #bytes: Uint8Array
  readonly #giveWay: () => Promise<void>
  readonly #open: Open[] = []
  readonly #start: number
  /** Everything before this position is parsed. */
  #parsedTo: number
  /** How many bytes of strings followed since `#parsedTo`. */
  #stringBytes = 0
  /** The outermost array or object, if it is parsed in pieces. */
  #root: Open | null = null

  constructor(bytes: Uint8Array, giveWay: () => Promise<void>) {
    this.#bytes = bytes
    this.#giveWay = giveWay
    this.#start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
    this.#parsedTo = this.#start
  }

  async read(): Promise<unknown> {
    const bytes = this.#bytes
    let [values, containers, steps] = [0, 0, 0]
    for (let at = this.#start; at < bytes.length; at += 1) {
      steps += 1
      if (steps % STEPS_PER_LOOK === 0) await this.#giveWay()
      const byte = bytes[at]
      if (byte === QUOTE) {
        const end = endOfString(bytes, at)
        this.#stringBytes += end - at
        at = end - 1
      } else if (byte === COMMA) {
        values += 1
        if (values > VALUES_MAX) throw tooMany(`${VALUES_MAX} values`)
        if (this.#endItem(at)) await this.#giveWay()
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        containers += 1
        if (containers > CONTAINERS_MAX) throw tooMany(`${CONTAINERS_MAX} lists and objects`)
        this.#begin(byte === OPEN_LIST, at)
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#end(byte === CLOSE_LIST, at)
    }
    if (this.#root === null) return parsePiece(this.#text(this.#start, bytes.length))
    this.#requireBlank(this.#parsedTo, bytes.length)
    if (this.#open.length > 0) throw new NotJson('not JSON')
    return this.#root.value
  }

  #begin(isList: boolean, at: number): void {
    const next = { start: at, from: at + 1, item: at + 1 }
    this.#open.push({ isList, ...next, value: null, keys: 0, isTaken: false })
    if (this.#open.length <= DEPTH_MAX) return
    const message = `The JSON is nested more than ${DEPTH_MAX} levels deep`
    throw new AppError('invalid_json', message)
  }

  /** Called at a comma. @returns whether a piece was parsed */
  #endItem(at: number): boolean {
    const inner = this.#open.at(-1)
    if (inner === undefined) return false
    inner.item = at + 1
    const isFull = at - this.#parsedTo > PIECE_BYTES
    if (inner.isTaken) this.#requireBlank(inner.from, at)
    else if (isFull) {
      this.#build()
      this.#take(inner, at)
    } else return false
    inner.isTaken = false
    this.#goOn(inner, at + 1)
    return isFull
  }

  #end(isList: boolean, at: number): void {
    const inner = this.#open.pop()
    if (inner === undefined || inner.value === null) return
    if (inner.isList !== isList) throw new NotJson('not JSON')
    if (inner.isTaken) this.#requireBlank(inner.from, at)
    else this.#take(inner, at)
    this.#goOn(this.#open.at(-1) ?? inner, at + 1)
  }

  #goOn(at: Open, from: number): void {
    at.from = from
    this.#parsedTo = from
    this.#stringBytes = 0
  }

  /** From here on, all open arrays and objects are built item by item. */
  #build(): void {
    let outer: Open | null = null
    for (const inner of this.#open) {
      if (inner.value === null) {
        inner.value = inner.isList ? [] : {}
        if (outer !== null) this.#attach(inner, outer)
        else {
          this.#requireBlank(this.#start, inner.start)
          this.#root = inner
        }
      }
      outer = inner
    }
  }

  #attach(inner: Open, outer: Open): void {
    if (outer.item > outer.from) this.#take(outer, outer.item - 1)
    outer.isTaken = true
    if (Array.isArray(outer.value)) {
      this.#requireBlank(outer.item, inner.start)
      outer.value.push(inner.value)
      return
    }
    const named = parsePiece(`{${this.#text(outer.item, inner.start)}0}`)
    const names = Object.keys(named ?? {})
    if (names.length !== 1) throw new NotJson('not JSON')
    this.#add(outer, { [names[0] ?? '']: inner.value })
  }

  /** Parses the pending items of an array or object up to this position; there is at least one. */
  #take(inner: Open, to: number): void {
    const text = this.#text(inner.from, to)
    // The brackets ensure that the result is an array or object.
    const items = parsePiece(inner.isList ? `[${text}]` : `{${text}}`) as readonly unknown[]
    if (Object.keys(items).length === 0) throw new NotJson('not JSON')
    if (Array.isArray(inner.value)) for (const item of items) inner.value.push(item)
    else this.#add(inner, items)
  }

  #add(object: Open, members: object): void {
    object.keys += Object.keys(members).length
    if (object.keys > KEYS_MAX) throw tooMany(`${KEYS_MAX} keys in an object`)
    Object.assign(object.value ?? {}, members)
  }

  #requireBlank(from: number, to: number): void {
    for (let at = from; at < to; at += 1) {
      if (!BLANK.has(this.#bytes[at])) throw new NotJson('not JSON')
    }
  }

  /** Parses consecutive items together. Only strings can be longer than a piece. */
  #text(start: number, end: number): string {
    if (end - start - this.#stringBytes > GAP_BYTES_MAX + PIECE_BYTES) {
      const what = `a number, or a space between values, of more than ${GAP_BYTES_MAX} bytes`
      throw new AppError('invalid_json', `The JSON has ${what}`)
    }
    return decodedText(this.#bytes, start, end)
  }
}
