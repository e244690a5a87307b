/** Where a text stops being JSON, and why: the engine's own parser does not say where. */
import type { TimeSlice } from '../../../core/runtime/serial-queue.ts'

export interface JsonMistake {
  /** From 1. */
  readonly line: number
  /** In UTF-16 code units, from 1. */
  readonly column: number
  readonly expected: string
  /** The text there. */
  readonly found: string
}

/** Steps between two readings of the clock. */
const STEPS_PER_LOOK = 16_384

/** The first mistake in a text that does not parse; null: none was found. */
export async function jsonMistake(
  bytes: Uint8Array,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<JsonMistake | null> {
  const scanner = new Scanner(bytes)
  for (let steps = 1; scanner.step(); steps += 1) {
    if (steps % STEPS_PER_LOOK === 0) await slice.yieldIfSpent(signal)
  }
  const { at, expected } = scanner
  return expected === null ? null : { ...placeOf(bytes, at), expected, found: foundAt(bytes, at) }
}

function placeOf(bytes: Uint8Array, at: number): Pick<JsonMistake, 'line' | 'column'> {
  let line = 1
  let start = 0
  for (let found = bytes.indexOf(LINE_FEED); found >= 0 && found < at; ) {
    line += 1
    start = found + 1
    found = bytes.indexOf(LINE_FEED, start)
  }
  return { line, column: new TextDecoder().decode(bytes.subarray(start, at)).length + 1 }
}

const FOUND_CHARS_MAX = 20

function foundAt(bytes: Uint8Array, at: number): string {
  if (at >= bytes.length) return 'the end of the body'
  const text = new TextDecoder().decode(bytes.subarray(at, at + 4 * FOUND_CHARS_MAX))
  const [word = ''] = /^(?:[\w.+-]+|.)/su.exec(text) ?? []
  return JSON.stringify(word.slice(0, FOUND_CHARS_MAX))
}

const LINE_FEED = 0x0a
const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, LINE_FEED, 0x0d])
const WORD = /^[\w.+-]*/
const WORD_BYTES_MAX = 2_048
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const ESCAPES = new Set([...'"\\/bfnrtu'].map((char) => char.charCodeAt(0)))

type State = 'value' | 'item or ]' | 'name or }' | 'name' | 'colon' | 'comma' | 'end'

const VALUE = 'a value'
const NAME = 'a name in double quotes'

/** Goes through the text value by value. */
class Scanner {
  readonly #bytes: Uint8Array
  /** The closing bracket of each open list or object. */
  readonly #open: string[] = []
  #state: State = 'value'
  at: number
  /** Set at a mistake, which is at `at`. */
  expected: string | null = null

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    this.at = hasMark ? 3 : 0
  }

  /** False at the end, or at a mistake. */
  step(): boolean {
    while (BLANK.has(this.#bytes[this.at] ?? 0)) this.at += 1
    if (this.at >= this.#bytes.length) {
      return this.#state === 'end' ? false : this.#wrong(this.#wanted())
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
        return char === ':' ? this.#go('value') : this.#wrong(this.#wanted())
      case 'comma':
        if (char !== ',') return this.#close(char)
        return this.#go(this.#open.at(-1) === ']' ? 'value' : 'name')
      case 'end':
        return this.#wrong('the end of the body')
    }
  }

  #wanted(): string {
    const closing = this.#open.at(-1) ?? ''
    const wanted: Readonly<Record<State, string>> = {
      value: VALUE,
      'item or ]': `${VALUE} or "]"`,
      'name or }': `${NAME} or "}"`,
      name: NAME,
      colon: '":"',
      comma: `"," or "${closing}"`,
      end: 'the end of the body',
    }
    return wanted[this.#state]
  }

  #wrong(expected: string): false {
    this.expected = expected
    return false
  }

  #go(state: State): true {
    this.at += 1
    this.#state = state
    return true
  }

  #close(char: string): boolean {
    if (char !== this.#open.at(-1)) return this.#wrong(this.#wanted())
    this.#open.pop()
    return this.#go(this.#open.length === 0 ? 'end' : 'comma')
  }

  #name(char: string): boolean {
    if (char !== '"') return this.#wrong(this.#wanted())
    return this.#string() && this.#after('colon')
  }

  #value(char: string): boolean {
    if (char === '[' || char === '{') {
      this.#open.push(char === '[' ? ']' : '}')
      return this.#go(char === '[' ? 'item or ]' : 'name or }')
    }
    const next = this.#open.length === 0 ? 'end' : 'comma'
    if (char === '"') return this.#string() && this.#after(next)
    const text = Buffer.from(this.#bytes.subarray(this.at, this.at + WORD_BYTES_MAX))
    const word = WORD.exec(text.toString('latin1'))?.[0] ?? ''
    // Longer words were read by the parser: they are numbers.
    const isKnown = ['true', 'false', 'null'].includes(word) || NUMBER.test(word)
    if (word === '' || (!isKnown && word.length < WORD_BYTES_MAX)) {
      return this.#wrong(this.#wanted())
    }
    this.at += word.length
    return this.#after(next)
  }

  #after(state: State): true {
    this.#state = state
    return true
  }

  /** From one quote to the next. */
  #string(): boolean {
    const bytes = this.#bytes
    for (let at = this.at + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0
      if (byte === 0x22) {
        this.at = at + 1
        return true
      }
      if (byte < 0x20) {
        this.at = at
        return this.#wrong('an escape, as in \\n, for a control character')
      }
      if (byte !== 0x5c) continue
      if (!ESCAPES.has(bytes[at + 1] ?? 0)) {
        this.at = at
        return this.#wrong('an escape that JSON knows')
      }
      at += 1
    }
    this.at = bytes.length
    return this.#wrong('a double quote at the end of a text')
  }
}
