/** JSON text to values, large ones in pieces, so that other requests are answered in between. */
import { AppError } from '../../../core/errors.ts'
import { TimeSlice } from '../../../core/runtime/serial-queue.ts'
import { type JsonMistake, jsonMistake } from './json-mistake.ts'

/** Deeper JSON is refused: code that walks a value would run out of stack. */
const DEPTH_MAX = 200

/** Parsing this many bytes takes about a millisecond; more is parsed in pieces of this size. */
const PIECE_BYTES = 128 * 1024

/** Longest number or white space. */
const GAP_BYTES_MAX = 1024 * 1024

/** Values take more memory than their text. */
const VALUES_MAX = 10_000_000
const CONTAINERS_MAX = 1_000_000
const KEYS_MAX = 100_000

const SLICE_MS = 8
/** Bytes or strings that are looked at between two readings of the clock. */
const STEPS_PER_LOOK = 16_384

/**
 * JSON text as a value. A key `__proto__` is refused, and a whole number that a double cannot hold exactly becomes its
 * digits as text, as in the answers.
 * @throws AppError `invalid_json`, `body_too_large` for too many values; the signal's reason
 */
export async function parseJson(bytes: Uint8Array, signal: AbortSignal): Promise<unknown> {
  const slice = new TimeSlice(SLICE_MS)
  try {
    const large = await largeParts(bytes, slice, signal)
    return await new PieceReader(bytes, large, () => slice.yieldIfSpent(signal)).read()
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    throw notJsonError(await jsonMistake(bytes, slice, signal), error)
  }
}

function tooDeep(): AppError {
  return new AppError('invalid_json', `The JSON is nested more than ${DEPTH_MAX} levels deep`)
}

/** The text does not parse. */
class NotJson extends Error {}

function notJson(cause?: unknown): NotJson {
  return new NotJson('not JSON', { cause })
}

function notJsonError(mistake: JsonMistake | null, cause: unknown): AppError {
  const what = 'The body is not valid JSON'
  if (mistake === null) {
    return new AppError('invalid_json', `${what}: it does not parse`, { cause })
  }
  const { line, column, expected, found } = mistake
  const place = `line ${line}, column ${column}: expected ${expected}, found ${found}`
  return new AppError('invalid_json', `${what}: ${place}`, { cause })
}

function tooMany(what: string): AppError {
  return new AppError('body_too_large', `The JSON has more than ${what}, the limit`)
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
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
    throw new AppError('invalid_json', 'The JSON has a key "__proto__", which no name may be')
  }
  try {
    return JSON.parse(/\d{16}/.test(text) ? withExactIntegers(text) : text)
  } catch (cause) {
    throw notJson(cause)
  }
}

/**
 * The key, with its characters literal or escaped. A quote in a string has a backslash before it, and valid JSON has no name
 * after a string's end.
 */
const PROTO_KEY =
  /(?<!\\)"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])(?:_|\\u005[fF]){2}"\s*:/

const STRING_OR_LARGE = /"|\d{16}/g

/** Puts quotes around the whole numbers that a double cannot hold. */
function withExactIntegers(json: string): string {
  let text = ''
  let at = 0
  STRING_OR_LARGE.lastIndex = 0
  while (STRING_OR_LARGE.test(json)) {
    const found = STRING_OR_LARGE.lastIndex
    if (json.charCodeAt(found - 1) === QUOTE) {
      STRING_OR_LARGE.lastIndex = endOfText(json, found)
      continue
    }
    let start = found - 16
    while (start > 0 && IN_NUMBER.has(json[start - 1] ?? '')) start -= 1
    let end = found
    while (IN_NUMBER.has(json[end] ?? '')) end += 1
    STRING_OR_LARGE.lastIndex = end
    const number = json.slice(start, end)
    // Before a colon it is not JSON, and must not become a key.
    const isExact = Number.isSafeInteger(Number(number)) || !/^-?[1-9]\d+$/.test(number)
    if (isExact || /^\s*:/.test(json.slice(end, end + 100))) continue
    text += `${json.slice(at, start)}"${number}"`
    at = end
  }
  return text + json.slice(at)
}

const IN_NUMBER: ReadonlySet<string> = new Set('0123456789+-.eE')

/** Behind the quote that ends the string. */
function endOfText(json: string, from: number): number {
  for (let at = from; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at += 1
  }
  return json.length
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const BLANK: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d])

/**
 * The start of each string, list and object longer than one piece → its end.
 * @throws AppError `invalid_json` for too many levels, `body_too_large` for too many values
 */
async function largeParts(
  bytes: Uint8Array,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  const large = new Map<number, number>()
  const open: number[] = []
  let [values, containers, steps] = [0, 0, 0]
  const note = (start: number, end: number) => {
    if (end - start > PIECE_BYTES) large.set(start, end)
  }
  for (let at = 0; at < bytes.length; at += 1) {
    steps += 1
    if (steps % STEPS_PER_LOOK === 0) await slice.yieldIfSpent(signal)
    const byte = bytes[at]
    if (byte === QUOTE) {
      const end = endOfString(bytes, at)
      note(at, end)
      at = end - 1
    } else if (byte === COMMA) values += 1
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      containers += 1
      open.push(at)
      if (open.length > DEPTH_MAX) throw tooDeep()
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      const start = open.pop()
      if (start !== undefined) note(start, at + 1)
    }
    if (values > VALUES_MAX) throw tooMany(`${VALUES_MAX} values`)
    if (containers > CONTAINERS_MAX) throw tooMany(`${CONTAINERS_MAX} lists and objects`)
  }
  return large
}

/** After the closing quote of the string that starts here. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let quote = start; ; ) {
    quote = bytes.indexOf(QUOTE, quote + 1)
    if (quote < 0) return bytes.length
    let first = quote
    while (first > start + 1 && bytes[first - 1] === BACKSLASH) first -= 1
    if ((quote - first) % 2 === 0) return quote + 1
  }
}

/**
 * Reads large values item by item. Small consecutive items form one piece for `JSON.parse`, which finds every error in them:
 * only the commas between items are checked here.
 */
class PieceReader {
  readonly #bytes: Uint8Array
  readonly #large: ReadonlyMap<number, number>
  readonly #giveWay: () => Promise<void>

  constructor(bytes: Uint8Array, large: ReadonlyMap<number, number>, giveWay: () => Promise<void>) {
    this.#bytes = bytes
    this.#large = large
    this.#giveWay = giveWay
  }

  read(): Promise<unknown> {
    const hasMark = this.#bytes[0] === 0xef && this.#bytes[1] === 0xbb && this.#bytes[2] === 0xbf
    return this.#value(hasMark ? 3 : 0, this.#bytes.length)
  }

  async #value(from: number, to: number): Promise<unknown> {
    const [start, end] = this.#trimmed(from, to)
    const isWhole = this.#large.get(start) === end
    const first = this.#bytes[start]
    if (isWhole && first === OPEN_LIST) return this.#list(start, end)
    if (isWhole && first === OPEN_OBJECT) return this.#object(start, end)
    if (!isWhole) this.#refuseGap(start, end)
    return parsePiece(textOf(this.#bytes, start, end))
  }

  async #list(start: number, end: number): Promise<readonly unknown[]> {
    if (this.#bytes[end - 1] !== CLOSE_LIST) throw notJson()
    const list: unknown[] = []
    for await (const { from, to, isLarge } of this.#pieces(start + 1, end - 1)) {
      if (isLarge) list.push(await this.#value(from, to))
      else for (const item of this.#items(parsePiece(`[${this.#text(from, to)}]`))) list.push(item)
    }
    return list
  }

  async #object(start: number, end: number): Promise<object> {
    if (this.#bytes[end - 1] !== CLOSE_OBJECT) throw notJson()
    const object: Record<string, unknown> = {}
    let keys = 0
    for await (const { from, to, isLarge } of this.#pieces(start + 1, end - 1)) {
      const members = isLarge
        ? await this.#member(from, to)
        : this.#items(parsePiece(`{${this.#text(from, to)}}`))
      keys += Object.keys(members).length
      if (keys > KEYS_MAX) throw tooMany(`${KEYS_MAX} keys in an object`)
      Object.assign(object, members)
    }
    return object
  }

  /** A name, a colon and a large value. */
  async #member(from: number, to: number): Promise<object> {
    const [start] = this.#trimmed(from, to)
    const nameEnd = endOfString(this.#bytes, start)
    const [colon] = this.#trimmed(nameEnd, to)
    if (this.#bytes[start] !== QUOTE || this.#bytes[colon] !== COLON) throw notJson()
    const named = parsePiece(`{${textOf(this.#bytes, start, nameEnd)}:0}`)
    const [name = ''] = Object.keys(named ?? {})
    return { [name]: await this.#value(colon + 1, to) }
  }

  /** Runs of small items, and large ones each by itself. */
  async *#pieces(start: number, end: number) {
    const [first] = this.#trimmed(start, end)
    if (first === end) return
    let from = start
    for (let at = start; at <= end; ) {
      const item = this.#item(at, end)
      const isEnd = item.end === end
      if (item.isLarge) {
        if (at > from) yield { from, to: at - 1, isLarge: false }
        yield { from: at, to: item.end, isLarge: true }
        from = item.end + 1
      } else if (isEnd || item.end - from > PIECE_BYTES) {
        yield { from, to: item.end, isLarge: false }
        from = item.end + 1
      }
      if (isEnd) return
      at = item.end + 1
      if (from === at) await this.#giveWay()
    }
  }

  /** To the comma after the item, or to the end of all. */
  #item(start: number, end: number): { readonly end: number; readonly isLarge: boolean } {
    let depth = 0
    let isLarge = false
    for (let at = start; at < end; at += 1) {
      const byte = this.#bytes[at]
      const largeEnd = this.#large.get(at)
      if (largeEnd !== undefined) {
        isLarge = true
        at = largeEnd - 1
      } else if (byte === QUOTE) at = endOfString(this.#bytes, at) - 1
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1
      else if (byte === COMMA && depth === 0) return { end: at, isLarge }
    }
    return { end, isLarge }
  }

  /** At least one exists: a comma or the start comes before the piece. */
  #items(parsed: unknown): readonly unknown[] {
    // The brackets guarantee a list or an object.
    const items = parsed as readonly unknown[]
    if (Object.keys(items).length === 0) throw notJson()
    return items
  }

  #trimmed(from: number, to: number): readonly [start: number, end: number] {
    let [start, end] = [from, to]
    while (start < end && BLANK.has(this.#bytes[start])) start += 1
    while (end > start && BLANK.has(this.#bytes[end - 1])) end -= 1
    return [start, end]
  }

  #text(start: number, end: number): string {
    this.#refuseGap(start, end)
    return textOf(this.#bytes, start, end)
  }

  /** Values that belong together are parsed together: nothing else is as long as this. */
  #refuseGap(start: number, end: number): void {
    if (end - start <= GAP_BYTES_MAX + PIECE_BYTES) return
    const what = `a number, or a space between values, of more than ${GAP_BYTES_MAX} bytes`
    throw new AppError('invalid_json', `The JSON has ${what}`)
  }
}
