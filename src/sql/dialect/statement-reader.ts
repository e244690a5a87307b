import { FILES_DATABASE } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { lineAndColumn, mayHoldSecrets } from '../../core/text/shown-statement.ts'
import { caretAt } from '../ast/placed-error.ts'
import { closeOf, endOfText } from '../lexer/brackets.ts'
import { isName, type Token } from '../lexer/tokens.ts'

/** Options by lower-case name. A value is a string, number, boolean, null, list or object. */
export type Options = Readonly<Record<string, unknown>>

/** A name in a project; null: the request's project. */
export interface QualifiedName {
  readonly project: string | null
  readonly name: string
  /** For a data source's table with a schema: `source.schema.table`. */
  readonly schema?: string
}

const DEPTH_MAX = 50

/** Pairs of words that mean one keyword, for example `KNOWLEDGE BASE` for `KNOWLEDGE_BASE`. */
const SPLIT_WORDS: Readonly<Record<string, readonly [string, string]>> = {
  knowledge_base: ['knowledge', 'base'],
  knowledge_bases: ['knowledge', 'bases'],
}

const QUERY_WORDS = new Set(['select', 'with', 'from', 'values'])

/** Reads from left to right. Anything unexpected is a `sql_syntax` error with its position. */
export class StatementReader {
  readonly #sql: string
  readonly #tokens: readonly Token[]
  #at = 0
  #isSecret = false

  constructor(sql: string, tokens: readonly Token[]) {
    this.#sql = sql
    this.#tokens = tokens
  }

  /** Stops errors from quoting the statement, which may contain passwords. */
  hideTexts(): void {
    this.#isSecret = true
  }

  /** Returns the next keyword in lower case, or one further ahead, without taking it. */
  peekWord(ahead = 0): string | undefined {
    const token = this.#tokens[this.#at + ahead]
    return token?.kind === 'word' ? token.value.toLowerCase() : undefined
  }

  /** Takes these keywords: all of them or none. */
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

  /** Whether that symbol comes next, or `ahead` tokens later. Does not take it. */
  isAt(symbol: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead]
    return token?.kind === 'symbol' && token.text === symbol
  }

  /** Takes the rest of the statement as written. */
  rest(): string {
    return this.#takeText(this.#tokens.length)
  }

  /** Outside parentheses, up to an unmatched closing one or the end. */
  textUntil(...ends: readonly string[]): string {
    return this.#takeText(endOfText(this.#tokens, this.#at, ends))
  }

  /** Whether `textUntil` would stop before the end. */
  isAhead(...ends: readonly string[]): boolean {
    return endOfText(this.#tokens, this.#at, ends) < this.#tokens.length
  }

  /** Whether a list of names in parentheses comes next, such as `(a, b)`. */
  isList(): boolean {
    const [open, name, next] = this.#tokens.slice(this.#at, this.#at + 3)
    const isQuery = name?.kind === 'word' && QUERY_WORDS.has(name.text)
    return (
      open?.text === '(' && isName(name) && !isQuery && (next?.text === ',' || next?.text === ')')
    )
  }

  /** Parses a list such as `(a, b)`. */
  nameList(what: string): readonly string[] {
    const names: string[] = []
    this.expectSymbol('(')
    do names.push(this.name(what))
    while (this.takeSymbol(','))
    this.expectSymbol(')')
    return names
  }

  /** A query, and the options of USING at its end. `JOIN t USING (column)` is part of the query. */
  queryAndOptions(): { readonly query: string; readonly options: Options | null } {
    const at = this.#tokens.findLastIndex((token, index) => {
      const isUsing = token.kind === 'word' && token.value.toLowerCase() === 'using'
      const isOption = isName(this.#tokens[index + 1]) && this.#tokens[index + 2]?.text === '='
      return index >= this.#at && isUsing && isOption
    })
    if (at === -1) return { query: this.rest(), options: null }
    const query = this.#takeText(at)
    this.#at = at + 1
    const options = this.options()
    this.expectEnd()
    return { query, options }
  }

  /** Takes the remaining SELECT, without parentheses around all of it. */
  restAsSelect(): string {
    const first = this.#tokens[this.#at]
    const last = this.#tokens.at(-1)
    const isEnclosed =
      first?.text === '(' && closeOf(this.#tokens, this.#at) === this.#tokens.length - 1
    const text = this.rest()
    if (!isEnclosed || first === undefined || last === undefined) return text
    return this.#sql.slice(first.end, last.start).trim()
  }

  /** Takes the text between these parentheses without parsing it. */
  enclosedText(): string {
    const first = this.#tokens[this.#at]
    if (first?.text !== '(') throw this.expected('"("')
    const close = closeOf(this.#tokens, this.#at)
    const last = this.#tokens[close]
    if (last === undefined) throw this.expected('")" at its end')
    this.#at = close + 1
    return this.#sql.slice(first.end, last.start).trim()
  }

  takeNumber(): string | undefined {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'number') return undefined
    this.#at += 1
    return token.value
  }

  #takeText(end: number): string {
    const first = this.#tokens[this.#at]
    const last = this.#tokens[end - 1]
    if (first === undefined || last === undefined || end <= this.#at) {
      throw this.expected('an expression')
    }
    this.#at = end
    return this.#sql.slice(first.start, last.end)
  }

  isAtEnd(): boolean {
    return this.#at >= this.#tokens.length
  }

  expectEnd(): void {
    if (!this.isAtEnd()) throw this.expected('the end of the statement')
  }

  /** Parses a name with or without quotes. */
  name(what: string): string {
    const token = this.#tokens[this.#at]
    if (!isName(token)) throw this.expected(what)
    this.#at += 1
    return token.value
  }

  /** @param what for the message if the name is missing, for example `a knowledge base` */
  qualifiedName(what: string): QualifiedName {
    const first = this.name(`the name of ${what}`)
    if (!this.takeSymbol('.')) return { project: null, name: first }
    const name = this.name(`the name of ${what}`)
    // A file's name may contain dots even without quotes: files.teas.csv.
    if (first.toLowerCase() === FILES_DATABASE) {
      const parts = [name]
      while (this.takeSymbol('.')) parts.push(this.name(`the name of ${what}`))
      return { project: first, name: parts.join('.') }
    }
    if (this.takeSymbol('.')) {
      const other = 'a table of a database has three, and is read only'
      throw this.expected(`a name of one or two parts (${other})`, 'a third part')
    }
    return { project: first, name }
  }

  /** Parses a name of one to three parts, because a table may have a schema. */
  tableName(what: string): QualifiedName {
    const isOfThree = this.isAt('.', 1) && this.isAt('.', 3)
    if (!isOfThree || this.peekWord() === FILES_DATABASE) return this.qualifiedName(what)
    const [project, schema, name] = [0, 1, 2].map((part) => {
      if (part > 0) this.expectSymbol('.')
      return this.name(`the name of ${what}`)
    })
    return { project: project ?? null, schema: schema ?? '', name: name ?? '' }
  }

  /** Takes `@name` or `@@name` and returns its parameter. */
  takeVariable(): string | undefined {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'parameter' || token.text[0] !== '@') return undefined
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

  /**
   * Commas are optional; some clients omit them. @param queries keys whose value may be a SELECT
   */
  options(queries: readonly string[] = []): Readonly<Record<string, unknown>> {
    const options = new Map<string, unknown>()
    do this.#takeOption(options, queries)
    while (this.takeSymbol(',') || this.#at < this.#tokens.length)
    return Object.fromEntries(options)
  }

  /** Parses `(key = value, …)`, or the same without parentheses up to the end of the statement. */
  enclosedOptions(): Readonly<Record<string, unknown>> {
    if (!this.takeSymbol('(')) return this.options()
    const options = new Map<string, unknown>()
    do this.#takeOption(options)
    while (this.takeSymbol(','))
    this.expectSymbol(')')
    return Object.fromEntries(options)
  }

  #takeOption(options: Map<string, unknown>, queries: readonly string[] = []): void {
    const at = this.#at
    const key = this.name('the name of an option').toLowerCase()
    if (options.has(key)) {
      this.#at = at
      throw this.expected('each option once', `"${key.slice(0, 40)}" again`)
    }
    this.expectSymbol('=')
    const isQuery = queries.includes(key) && this.isAt('(')
    options.set(key, isQuery ? `(${this.enclosedText()}\n)` : this.#value(0))
  }

  expected(what: string, found?: string): AppError {
    const token = this.#tokens[this.#at]
    const isSecret = this.#isSecret || mayHoldSecrets(this.#sql)
    const shown = found ?? (token === undefined ? 'the end' : shownToken(token, isSecret))
    const at = token?.start ?? this.#sql.trimEnd().length
    const message = `${lineAndColumn(this.#sql, at)}: expected ${what}, found ${shown}`
    const excerpt = isSecret ? undefined : caretAt(this.#sql, at)
    return new AppError('sql_syntax', message, { excerpt })
  }

  #takeWord(word: string): boolean {
    const split = SPLIT_WORDS[word]
    if (this.peekWord() === word) {
      this.#at += 1
      return true
    }
    return split !== undefined && this.takeWords(...split)
  }

  object(): Options {
    if (!this.isAt('{')) throw this.expected('"{"')
    return this.#json() ?? this.#object(0)
  }

  /** Parses an object in JSON, which has escapes of its own. */
  #json(): Options | undefined {
    const first = this.#tokens[this.#at]
    let depth = 0
    for (let at = this.#at; at < this.#tokens.length && depth <= DEPTH_MAX; at += 1) {
      const token = this.#tokens[at]
      if (token?.kind !== 'symbol') continue
      if (token.text === '{') depth += 1
      if (token.text === '}') depth -= 1
      if (depth > 0) continue
      const object = parsedJson(this.#sql.slice(first?.start, token.end))
      if (!isObject(object)) return undefined
      this.#at = at + 1
      return object
    }
    return undefined
  }

  #value(depth: number): unknown {
    if (depth > DEPTH_MAX) throw this.expected(`at most ${DEPTH_MAX} levels of lists and objects`)
    if (this.isAt('{')) return this.#json() ?? this.#object(depth)
    if (this.takeSymbol('[')) return this.#list(depth)
    const sign = this.takeSymbol('-') ? -1 : 1
    const token = this.#tokens[this.#at]
    if (token === undefined) throw this.expected('a value')
    if (token.kind === 'number') {
      this.#at += 1
      return sign * Number(token.value.replaceAll('_', ''))
    }
    if (sign === -1) throw this.expected('a number after "-"')
    return token.kind === 'word' ? this.#wordValue(depth) : this.string()
  }

  /** Parses `true`, `false`, `null`, or a name such as `project.table`. */
  #wordValue(depth: number): unknown {
    const word = this.name('a value')
    if (Object.hasOwn(CONSTANTS, word.toLowerCase())) return CONSTANTS[word.toLowerCase()]
    // Python's null, inside an object.
    if (depth > 0 && word === 'None') return null
    let path = word
    while (this.takeSymbol('.')) path += `.${this.name('a name')}`
    return path
  }

  #object(depth: number): Readonly<Record<string, unknown>> {
    const entries: [string, unknown][] = []
    this.expectSymbol('{')
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

const CONSTANTS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }

function shownToken({ kind, text }: Token, isSecret: boolean): string {
  return isSecret && (kind === 'string' || kind === 'name') ? 'a text' : `"${text.slice(0, 40)}"`
}
