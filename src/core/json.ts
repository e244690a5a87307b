/** Reads external JSON values of unknown shape. */

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** null if not an object. Models often send an empty text for "no arguments". */
export function parsedArguments(text: string): JsonObject | null {
  const value = text.trim() === '' ? {} : parsedJson(text)
  return isObject(value) ? value : null
}

/** A value as text: lists and objects as JSON. @param nothing the text for null and undefined */
export function textOfValue(value: unknown, nothing = ''): string {
  if (value === null || value === undefined) return nothing
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Whether the value is a non-negative integer that a double represents exactly. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Whether a value has at most this many levels of nested objects and arrays. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1))
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** So that spreading them over another object overrides nothing else. */
export function definedFields<T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const defined = Object.entries(fields).filter(([, value]) => value !== undefined)
  // Removing undefined values does not change the types of the others.
  return Object.fromEntries(defined) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** Finds where and why a text stops being valid JSON, because the engine's parser does not say. */

interface JsonText {
  readonly bytes: Uint8Array
  /** What messages call the text, as in "the end of the body". */
  readonly whole: 'body' | 'file'
  /** As DuckDB is: values may follow each other, numbers may be NaN or Infinity. */
  readonly isLenient?: boolean
}

/** How many steps to take between two calls of `giveWay`. */
const STEPS_PER_LOOK = 16_384

/** `line 2, column 9: expected a value, found "}"`, in UTF-16 units from 1; null if none. */
export async function jsonMistake(
  text: JsonText,
  giveWay: () => Promise<void>,
): Promise<string | null> {
  const scanner = new Scanner(text)
  for (let steps = 1; scanner.step(); steps += 1) {
    if (steps % STEPS_PER_LOOK === 0) await giveWay()
  }
  const { at, expected } = scanner
  if (expected === null) return null
  return `${placeOf(text.bytes, at)}: expected ${expected}, found ${foundAt(text, at)}`
}

function placeOf(bytes: Uint8Array, at: number): string {
  let line = 1
  let start = 0
  for (let found = bytes.indexOf(LINE_FEED); found >= 0 && found < at; ) {
    line += 1
    start = found + 1
    found = bytes.indexOf(LINE_FEED, start)
  }
  const column = new TextDecoder().decode(bytes.subarray(start, at)).length + 1
  return `line ${line}, column ${column}`
}

const FOUND_CHARS_MAX = 20

function foundAt({ bytes, whole }: JsonText, at: number): string {
  if (at >= bytes.length) return `the end of the ${whole}`
  const text = new TextDecoder().decode(bytes.subarray(at, at + 4 * FOUND_CHARS_MAX))
  const [word = ''] = /^(?:[\w.+-]+|.)/su.exec(text) ?? []
  return JSON.stringify(word.slice(0, FOUND_CHARS_MAX))
}

const LINE_FEED = 0x0a
const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, LINE_FEED, 0x0d])
const JSON_WORD = /^[\w.+-]*/
const WORD_BYTES_MAX = 2_048
const LITERAL = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const LENIENT_LITERAL = /^(?:NaN|-?Infinity)$/
const ESCAPES = new Set([...'"\\/bfnrtu'].map((char) => char.charCodeAt(0)))

type State = 'value' | 'item or ]' | 'name or }' | 'name' | 'colon' | 'comma' | 'end'

const VALUE = 'a value'
const NAME_IN_QUOTES = 'a name in double quotes'

/** Scans the text value by value. */
class Scanner {
  readonly #text: JsonText
  readonly #bytes: Uint8Array
  /** The closing bracket for each open array or object. */
  readonly #open: string[] = []
  #state: State = 'value'
  at: number
  /** What was expected at `at`; set once a mistake is found. */
  expected: string | null = null

  constructor(text: JsonText) {
    this.#text = text
    this.#bytes = text.bytes
    const [first, second, third] = text.bytes
    this.at = first === 0xef && second === 0xbb && third === 0xbf ? 3 : 0
  }

  /** Returns false at the end, or at a mistake. */
  step(): boolean {
    while (BLANK.has(this.#bytes[this.at] ?? 0)) this.at += 1
    const mayEnd = this.#text.isLenient === true && this.#open.length === 0
    if (this.at >= this.#bytes.length) {
      return this.#state === 'end' || mayEnd ? false : this.#wrong()
    }
    const char = String.fromCharCode(this.#bytes[this.at] ?? 0)
    switch (this.#state) {
      case 'value':
        return this.#value(char)
      case 'item or ]':
        return char === ']' ? this.#close(char) : this.#value(char)
      case 'name or }':
        return char === '}' ? this.#close(char) : this.#name(char)
      case 'name':
        return this.#name(char)
      case 'colon':
        return char === ':' ? this.#go('value') : this.#wrong()
      case 'comma':
        if (char !== ',') return this.#close(char)
        return this.#go(this.#open.at(-1) === ']' ? 'value' : 'name')
      case 'end':
        return mayEnd ? this.#value(char) : this.#wrong()
    }
  }

  #wrong(expected = this.#wanted()): false {
    this.expected = expected
    return false
  }

  #wanted(): string {
    const wanted: Readonly<Record<State, string>> = {
      value: VALUE,
      'item or ]': `${VALUE} or "]"`,
      'name or }': `${NAME_IN_QUOTES} or "}"`,
      name: NAME_IN_QUOTES,
      colon: '":"',
      comma: `"," or "${this.#open.at(-1) ?? ''}"`,
      end: `the end of the ${this.#text.whole}`,
    }
    return wanted[this.#state]
  }

  #go(state: State, to = this.at + 1): true {
    this.at = to
    this.#state = state
    return true
  }

  #afterValue(): State {
    return this.#open.length === 0 ? 'end' : 'comma'
  }

  #close(char: string): boolean {
    if (char !== this.#open.at(-1)) return this.#wrong()
    this.#open.pop()
    return this.#go(this.#afterValue())
  }

  #name(char: string): boolean {
    return char === '"' ? this.#string('colon') : this.#wrong()
  }

  #value(char: string): boolean {
    if (char === '[' || char === '{') {
      this.#open.push(char === '[' ? ']' : '}')
      return this.#go(char === '[' ? 'item or ]' : 'name or }')
    }
    if (char === '"') return this.#string(this.#afterValue())
    const text = Buffer.from(this.#bytes.subarray(this.at, this.at + WORD_BYTES_MAX))
    const word = JSON_WORD.exec(text.toString('latin1'))?.[0] ?? ''
    const isKnown =
      LITERAL.test(word) || (this.#text.isLenient === true && LENIENT_LITERAL.test(word))
    // A longer word was accepted by the parser, so it is a number.
    if (word === '' || (!isKnown && word.length < WORD_BYTES_MAX)) return this.#wrong(VALUE)
    return this.#go(this.#afterValue(), this.at + word.length)
  }

  /** Moves from the opening quote to just after the closing quote. */
  #string(after: State): boolean {
    const bytes = this.#bytes
    for (let at = this.at + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0
      if (byte === 0x22) return this.#go(after, at + 1)
      this.at = at
      if (byte < 0x20) return this.#wrong('an escape, as in \\n, for a control character')
      if (byte !== 0x5c) continue
      if (!ESCAPES.has(bytes[at + 1] ?? 0)) return this.#wrong('an escape that JSON knows')
      at += 1
    }
    this.at = bytes.length
    return this.#wrong('a double quote at the end of a text')
  }
}
