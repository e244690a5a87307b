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
  { bytes, whole, isLenient = false }: JsonText,
  giveWay: () => Promise<void>,
): Promise<string | null> {
  const text = new TextDecoder().decode(bytes)
  const scanner = new Scanner(text, isLenient)
  for (let steps = 1; scanner.step(); steps += 1) {
    if (steps % STEPS_PER_LOOK === 0) await giveWay()
  }
  const { at, expected } = scanner
  if (expected === null) return null
  const lines = text.slice(0, at).split('\n')
  const place = `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
  const end = `the end of the ${whole}`
  return `${place}: expected ${expected || end}, found ${foundAt(text, at) || end}`
}

const FOUND_CHARS_MAX = 20

function foundAt(text: string, at: number): string {
  const [word = ''] = /^(?:[\w.+-]+|.)/su.exec(text.slice(at, at + 4 * FOUND_CHARS_MAX)) ?? []
  return word === '' ? '' : JSON.stringify(word.slice(0, FOUND_CHARS_MAX))
}

const BLANK = /[ \t\n\r]*/y
const WORD = /[\w.+-]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in strings
const PLAIN = /[^"\\\x00-\x1f]*/y
const ESCAPE = /\\["\\/bfnrtu]/y
const LITERAL = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const LENIENT_LITERAL = /^(?:NaN|-?Infinity)$/

/** What must come next. An empty text: nothing. */
const WANTED = {
  value: 'a value',
  firstValue: 'a value or "]"',
  name: 'a name in double quotes',
  firstName: 'a name in double quotes or "}"',
  colon: '":"',
  comma: '"," or ',
  end: '',
}

/** Scans the text value by value. */
class Scanner {
  readonly #text: string
  readonly #isLenient: boolean
  /** The closing bracket for each open array or object. */
  readonly #open: string[] = []
  #next: keyof typeof WANTED = 'value'
  at = 0
  /** What was expected at `at`, empty for the end; set once a mistake is found. */
  expected: string | null = null

  constructor(text: string, isLenient: boolean) {
    this.#text = text
    this.#isLenient = isLenient
  }

  /** Returns false at the end, or at a mistake. */
  step(): boolean {
    this.#take(BLANK)
    const char = this.#text[this.at]
    const closing = this.#open.at(-1)
    const mayEnd = this.#next === 'end' || (this.#isLenient && closing === undefined)
    if (char === undefined) return mayEnd ? false : this.#wrong()
    const next = mayEnd && this.#isLenient ? 'value' : this.#next
    if (char === closing && /first|comma/.test(next)) {
      this.#open.pop()
      return this.#go(this.#afterValue)
    }
    if (next === 'comma' && char === ',') return this.#go(closing === ']' ? 'value' : 'name')
    if (next === 'colon' && char === ':') return this.#go('value')
    if (/name/i.test(next) && char === '"') return this.#string('colon')
    return /value/i.test(next) ? this.#value(char) : this.#wrong()
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.at += found.length
    return found
  }

  #wrong(expected = WANTED[this.#next]): false {
    this.expected = this.#next === 'comma' ? `${expected}"${this.#open.at(-1)}"` : expected
    return false
  }

  #go(next: keyof typeof WANTED): true {
    this.at += 1
    this.#next = next
    return true
  }

  get #afterValue(): 'end' | 'comma' {
    return this.#open.length === 0 ? 'end' : 'comma'
  }

  #value(char: string): boolean {
    if (char === '"') return this.#string(this.#afterValue)
    if (char === '[' || char === '{') {
      this.#open.push(char === '[' ? ']' : '}')
      return this.#go(char === '[' ? 'firstValue' : 'firstName')
    }
    const start = this.at
    const word = this.#take(WORD)
    this.#next = this.#afterValue
    if (LITERAL.test(word) || (this.#isLenient && LENIENT_LITERAL.test(word))) return true
    this.at = start
    this.#next = 'value'
    return this.#wrong()
  }

  #string(next: keyof typeof WANTED): boolean {
    this.at += 1
    this.#take(PLAIN)
    while (this.#take(ESCAPE) !== '') this.#take(PLAIN)
    const char = this.#text[this.at]
    if (char === '"') return this.#go(next)
    this.#next = 'value'
    if (char === undefined) return this.#wrong('a double quote at the end of a text')
    if (char === '\\') return this.#wrong('an escape that JSON knows')
    return this.#wrong('an escape, as in \\n, for a control character')
  }
}
