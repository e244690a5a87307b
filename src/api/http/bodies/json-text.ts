/** JSON text to values, a large one in pieces, so that other requests are answered meanwhile. */
import { AppError } from '../../../core/errors.ts'
import { TimeSlice } from '../../../core/runtime/serial-queue.ts'
import { type JsonMistake, jsonMistake } from './json-mistake.ts'

/** Deeper JSON is refused: code that walks a value would run out of stack. */
const DEPTH_MAX = 200

/** A text of up to so many bytes takes about a millisecond; more is parsed in pieces of this size. */
const PIECE_BYTES = 128 * 1024

/** What holds no comma and is no string: a number, or white space. */
const GAP_BYTES_MAX = 1024 * 1024

/** Values take more memory than their text. */
const VALUES_MAX = 10_000_000
const CONTAINERS_MAX = 1_000_000
const KEYS_MAX = 100_000

const SLICE_MS = 8
/** Bytes or escapes that are looked at between two readings of the clock. */
const STEPS_PER_LOOK = 16_384

/**
 * JSON text as a value. A key `__proto__` is refused, and a whole number that a double cannot hold exactly becomes its
 * digits as text, as in the answers.
 * @throws AppError `invalid_json`, `body_too_large` for too many values; the signal's reason
 */
export async function parseJson(bytes: Uint8Array, signal: AbortSignal): Promise<unknown> {
  try {
    return await parsedValue(bytes, signal)
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    const mistake = await jsonMistake(bytes, new TimeSlice(SLICE_MS), signal)
    throw notJsonError(mistake, error)
  }
}

/** @throws NotJson */
async function parsedValue(bytes: Uint8Array, signal: AbortSignal): Promise<unknown> {
  if (bytes.length > PIECE_BYTES) return new PieceReader(bytes, signal).read()
  if (depthOf(bytes) > DEPTH_MAX) throw tooDeep()
  return parsePiece(textOf(bytes, 0, bytes.length))
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
 * The key, its characters written as they are or as escapes. A quote in a string has a backslash before it, and behind a
 * string's end no name follows in what is JSON.
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
    // Before a colon it is no JSON, and must not become a key.
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
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const LETTER_U = 0x75

/** How deep brackets and braces nest, not counting those in strings. */
function depthOf(json: Uint8Array): number {
  let depth = 0
  let deepest = 0
  for (let index = 0; index < json.length; index++) {
    const byte = json[index]
    if (byte === QUOTE) {
      index = endOfString(json, index + 1)
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return deepest
}

function endOfString(json: Uint8Array, start: number): number {
  for (let index = start; index < json.length; index += 1) {
    if (json[index] === QUOTE) return index
    if (json[index] === BACKSLASH) index += 1
  }
  return json.length
}

/** A list or an object that is open. What is small in it stays text until there is a piece of it. */
interface Frame {
  readonly isList: boolean
  readonly start: number
  /** What was parsed of it; null: nothing yet. */
  value: unknown[] | Record<string, unknown> | null
  keyCount: number
  /** Where the text begins that is not parsed yet. */
  cut: number
  /** The comma that came last; before `cut`: there is none in the text. */
  comma: number
  /** True when a large value is the last that was parsed: a comma or the end must follow. */
  isAfterLarge: boolean
}

/**
 * Finds where lists and objects begin, end and have their commas, and has JSON.parse read what stands between: many small
 * values at once, a large string in parts.
 */
class PieceReader {
  readonly #bytes: Uint8Array
  readonly #signal: AbortSignal
  readonly #slice = new TimeSlice(SLICE_MS)
  readonly #frames: Frame[] = []
  #values = 0
  #containers = 0
  #steps = 0
  #backslash = -1
  /** The outermost value, in a list, once it is known to be large. */
  #whole: [unknown] | null = null
  #wholeEnd = 0

  constructor(bytes: Uint8Array, signal: AbortSignal) {
    this.#bytes = bytes
    this.#signal = signal
  }

  async read(): Promise<unknown> {
    const bytes = this.#bytes
    for (let index = 0; index < bytes.length; index += 1) {
      this.#steps += 1
      if (this.#steps >= STEPS_PER_LOOK) await this.#look()
      const byte = bytes[index]
      if (byte === QUOTE) {
        const end = await this.#stringEnd(index)
        if (end - index > PIECE_BYTES) this.#put(index, end, await this.#string(index, end))
        index = end - 1
      } else if (byte === COMMA) this.#comma(index)
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#open(index, byte === OPEN_LIST)
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        this.#close(index, byte === CLOSE_LIST)
      }
    }
    if (this.#frames.length > 0) throw notJson()
    if (this.#whole === null) return parsePiece(this.#text(0, bytes.length))
    this.#expectBlank(this.#wholeEnd, bytes.length)
    return this.#whole[0]
  }

  async #look(): Promise<void> {
    this.#steps = 0
    await this.#slice.yieldIfSpent(this.#signal)
  }

  /** Behind the quote that ends the string which begins here. */
  async #stringEnd(start: number): Promise<number> {
    const bytes = this.#bytes
    let quote = bytes.indexOf(QUOTE, start + 1)
    for (let at = this.#backslashFrom(start + 1); at < quote; at = this.#backslashFrom(at + 2)) {
      this.#steps += 1
      if (this.#steps >= STEPS_PER_LOOK) await this.#look()
      if (quote < at + 2) quote = bytes.indexOf(QUOTE, at + 2)
    }
    if (quote < 0) throw notJson()
    return quote + 1
  }

  /** Asked for places further and further on: none is looked for twice. */
  #backslashFrom(from: number): number {
    if (this.#backslash < from) {
      const found = this.#bytes.indexOf(BACKSLASH, from)
      this.#backslash = found < 0 ? Number.POSITIVE_INFINITY : found
    }
    return this.#backslash
  }

  #open(index: number, isList: boolean): void {
    this.#containers += 1
    if (this.#containers > CONTAINERS_MAX) throw tooMany(`${CONTAINERS_MAX} lists and objects`)
    if (this.#frames.length >= DEPTH_MAX) throw tooDeep()
    const parsed = { value: null, keyCount: 0, isAfterLarge: false }
    this.#frames.push({ isList, start: index, cut: index + 1, comma: index, ...parsed })
  }

  #comma(index: number): void {
    this.#values += 1
    if (this.#values > VALUES_MAX) throw tooMany(`${VALUES_MAX} values`)
    const frame = this.#frames.at(-1)
    if (frame === undefined) throw notJson()
    if (frame.isAfterLarge) this.#expectBlank(frame.cut, index)
    else if (index - frame.cut > PIECE_BYTES) this.#take(frame, index)
    else {
      frame.comma = index
      return
    }
    frame.isAfterLarge = false
    frame.cut = index + 1
    frame.comma = index
  }

  #close(index: number, isList: boolean): void {
    const frame = this.#frames.pop()
    if (frame === undefined || frame.isList !== isList) throw notJson()
    // Small ones are read as a part of what is around them.
    const isSmall = frame.value === null && index - frame.start <= PIECE_BYTES
    if (isSmall && this.#frames.length > 0) return
    if (frame.isAfterLarge) this.#expectBlank(frame.cut, index)
    else if (frame.value !== null || this.#isFilled(frame.cut, index)) this.#take(frame, index)
    this.#put(frame.start, index + 1, frame.value ?? (isList ? [] : {}))
  }

  /** Adds the values from the cut on. There is at least one: a comma or the beginning is before it. */
  #take(frame: Frame, end: number): void {
    const text = this.#text(frame.cut, end)
    const parsed = parsePiece(frame.isList ? `[${text}]` : `{${text}}`)
    if (Array.isArray(parsed)) {
      if (parsed.length === 0) throw notJson()
      if (frame.value === null) frame.value = parsed
      else if (Array.isArray(frame.value)) for (const item of parsed) frame.value.push(item)
      return
    }
    // The text is that of an object.
    const members = parsed as Record<string, unknown>
    const count = Object.keys(members).length
    if (count === 0) throw notJson()
    this.#countKeys(frame, count)
    frame.value = frame.value === null ? members : Object.assign(frame.value, members)
  }

  #countKeys(frame: Frame, count: number): void {
    frame.keyCount += count
    if (frame.keyCount > KEYS_MAX) throw tooMany(`${KEYS_MAX} keys in an object`)
  }

  /** Puts a large value into what is around it, behind the small ones before it. */
  #put(start: number, end: number, value: unknown): void {
    const frame = this.#frames.at(-1)
    if (frame === undefined) {
      if (this.#whole !== null) throw notJson()
      this.#expectBlank(0, start)
      this.#whole = [value]
      this.#wholeEnd = end
      return
    }
    if (frame.isAfterLarge) throw notJson()
    if (frame.comma >= frame.cut) {
      this.#take(frame, frame.comma)
      frame.cut = frame.comma + 1
    }
    const before = this.#text(frame.cut, start)
    if (frame.isList) {
      this.#expectBlank(frame.cut, start)
      frame.value ??= []
      if (Array.isArray(frame.value)) frame.value.push(value)
    } else {
      const [key, ...others] = Object.keys(parsePiece(`{${before}[]}`) ?? {})
      if (key === undefined || others.length > 0) throw notJson()
      this.#countKeys(frame, 1)
      frame.value = Object.assign(frame.value ?? {}, { [key]: value })
    }
    frame.cut = end
    frame.isAfterLarge = true
  }

  /** The value of a large string, in parts that end between characters and between escapes. */
  async #string(start: number, end: number): Promise<string> {
    let text = ''
    for (let at = start + 1; at < end - 1; ) {
      await this.#slice.yieldIfSpent(this.#signal)
      const partEnd = at + PIECE_BYTES < end - 1 ? this.#breakBefore(at + PIECE_BYTES, at) : end - 1
      const part = parsePiece(`"${this.#text(at, partEnd)}"`)
      if (typeof part !== 'string') throw notJson()
      text += part
      at = partEnd
    }
    return text
  }

  /** @param least where the part begins */
  #breakBefore(at: number, least: number): number {
    const bytes = this.#bytes
    let end = at
    while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
    for (let index = end - 1; index >= end - 6 && index > least; index -= 1) {
      const isEscape = bytes[index] === BACKSLASH && !this.#isEscaped(index, least)
      if (!isEscape) continue
      const length = bytes[index + 1] === LETTER_U ? 6 : 2
      return index + length > end ? index : end
    }
    return end
  }

  #isEscaped(index: number, least: number): boolean {
    let first = index
    while (first > least && this.#bytes[first - 1] === BACKSLASH) first -= 1
    return (index - first) % 2 === 1
  }

  #text(start: number, end: number): string {
    // Values that belong together are parsed together: nothing else is as long as this.
    if (end - start > GAP_BYTES_MAX + PIECE_BYTES) {
      const what = `a number, or a space between values, of more than ${GAP_BYTES_MAX} bytes`
      throw new AppError('invalid_json', `The JSON has ${what}`)
    }
    return textOf(this.#bytes, start, end)
  }

  #isFilled(start: number, end: number): boolean {
    return this.#text(start, end).trim() !== ''
  }

  #expectBlank(start: number, end: number): void {
    if (!/^[ \t\n\r]*$/.test(this.#text(start, end))) throw notJson()
  }
}
