import { AppError } from '../errors.ts'
import { placeOf, type Token } from './tokens.ts'

const DEPTH_MAX = 50

/** Words that stand for one key word of the dialect: `KNOWLEDGE BASE` is `KNOWLEDGE_BASE`. */
const SPLIT_WORDS: Readonly<Record<string, readonly [string, string]>> = {
  knowledge_base: ['knowledge', 'base'],
  knowledge_bases: ['knowledge', 'bases'],
}

/** Reads a dialect statement from left to right. Whatever does not fit is a `sql_syntax` error with its place. */
export class StatementReader {
  readonly #sql: string
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(sql: string, tokens: readonly Token[]) {
    this.#sql = sql
    this.#tokens = tokens
  }

  /** The next key word in lower case, not taken. */
  peekWord(): string | undefined {
    const token = this.#tokens[this.#at]
    return token?.kind === 'word' ? token.value.toLowerCase() : undefined
  }

  /** Takes these key words, all or none. */
  takeWords(...words: readonly string[]): boolean {
    const start = this.#at
    for (const word of words) {
      if (!this.#takeWord(word)) {
        this.#at = start
        return false
      }
    }
    return true
  }

  expectWord(word: string): void {
    if (!this.#takeWord(word)) throw this.expected(word.toUpperCase())
  }

  takeSymbol(symbol: string): boolean {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'symbol' || token.text !== symbol) return false
    this.#at += 1
    return true
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.expected(`"${symbol}"`)
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) throw this.expected('the end of the statement')
  }

  /** A name, plain or quoted. */
  name(what: string): string {
    const token = this.#tokens[this.#at]
    if (token === undefined || (token.kind !== 'word' && token.kind !== 'name')) {
      throw this.expected(what)
    }
    this.#at += 1
    return token.value
  }

  string(): string {
    const token = this.#tokens[this.#at]
    const isText = token?.kind === 'string' || (token?.kind === 'name' && token.text[0] === '"')
    if (token === undefined || !isText) throw this.expected('a text in single quotes')
    this.#at += 1
    return token.value
  }

  /** `key = value, key = value`; the commas may be missing, as an existing client leaves them out. */
  options(): Readonly<Record<string, unknown>> {
    const options: Record<string, unknown> = {}
    do {
      const key = this.name('the name of an option').toLowerCase()
      this.expectSymbol('=')
      options[key] = this.#value(0)
    } while (this.takeSymbol(',') || this.#at < this.#tokens.length)
    return options
  }

  expected(what: string, found?: string): AppError {
    const token = this.#tokens[this.#at]
    const shown = found ?? (token === undefined ? 'the end' : `"${token.text.slice(0, 40)}"`)
    const place = placeOf(this.#sql, token?.start ?? this.#sql.trimEnd().length)
    return new AppError('sql_syntax', `${place}: expected ${what}, found ${shown}`)
  }

  #takeWord(word: string): boolean {
    const split = SPLIT_WORDS[word]
    if (this.peekWord() === word) {
      this.#at += 1
      return true
    }
    return split !== undefined && this.takeWords(...split)
  }

  #value(depth: number): unknown {
    if (depth > DEPTH_MAX) throw this.expected(`at most ${DEPTH_MAX} levels of lists and objects`)
    if (this.takeSymbol('{')) return this.#object(depth)
    if (this.takeSymbol('[')) return this.#list(depth)
    const sign = this.takeSymbol('-') ? -1 : 1
    const token = this.#tokens[this.#at]
    if (token === undefined) throw this.expected('a value')
    if (token.kind === 'number') {
      this.#at += 1
      return sign * Number(token.value.replaceAll('_', ''))
    }
    if (sign === -1) throw this.expected('a number after "-"')
    return token.kind === 'word' ? this.#wordValue() : this.string()
  }

  /** `true`, `false`, `null`, or a name as `project.table`. */
  #wordValue(): unknown {
    const word = this.name('a value')
    const constants: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }
    if (Object.hasOwn(constants, word.toLowerCase())) return constants[word.toLowerCase()]
    let path = word
    while (this.takeSymbol('.')) path += `.${this.name('a name')}`
    return path
  }

  #object(depth: number): Readonly<Record<string, unknown>> {
    const entries: [string, unknown][] = []
    if (this.takeSymbol('}')) return {}
    do {
      const token = this.#tokens[this.#at]
      const key = token?.kind === 'word' ? this.name('a key') : this.string()
      if (!this.takeSymbol('=')) this.expectSymbol(':')
      entries.push([key, this.#value(depth + 1)])
    } while (this.takeSymbol(','))
    this.expectSymbol('}')
    return Object.fromEntries(entries)
  }

  #list(depth: number): readonly unknown[] {
    const values: unknown[] = []
    if (this.takeSymbol(']')) return values
    do values.push(this.#value(depth + 1))
    while (this.takeSymbol(','))
    this.expectSymbol(']')
    return values
  }
}
