import { mayHoldSecrets } from '../../core/domain/flow/source-parameters.ts'
import { FILES_DATABASE } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { caretAt } from '../ast/placed-error.ts'
import { endOfText, lineAndColumn, type Token } from '../lexer/tokens.ts'

/** Option name in lower case → value: string, number, boolean, null, list or object. */
export type Options = Readonly<Record<string, unknown>>

/** A name in a project, or in that of the request. */
export interface QualifiedName {
  readonly project: string | null
  readonly name: string
  /** For a table of a data source: `source.schema.table`. */
  readonly schema?: string
}

const DEPTH_MAX = 50

/** Two words that mean one key word of the dialect: `KNOWLEDGE BASE` is `KNOWLEDGE_BASE`. */
const SPLIT_WORDS: Readonly<Record<string, readonly [string, string]>> = {
  knowledge_base: ['knowledge', 'base'],
  knowledge_bases: ['knowledge', 'bases'],
}

const QUERY_WORDS = new Set(['select', 'with', 'from', 'values'])

/** Reads a dialect statement from left to right. Anything unexpected is a `sql_syntax` error with its position. */
export class StatementReader {
  readonly #sql: string
  readonly #tokens: readonly Token[]
  #at = 0
  #isSecret = false

  constructor(sql: string, tokens: readonly Token[]) {
    this.#sql = sql
    this.#tokens = tokens
  }

  /** It may contain passwords: errors do not quote the statement. */
  hideTexts(): void {
    this.#isSecret = true
  }

  /** The next key word in lower case, or one further on, not taken. */
  peekWord(ahead = 0): string | undefined {
    const token = this.#tokens[this.#at + ahead]
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

  /** Whether that symbol comes next, or `ahead` tokens later; does not take it. */
  isAt(symbol: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead]
    return token?.kind === 'symbol' && token.text === symbol
  }

  /** Takes the rest as written. */
  rest(): string {
    return this.#takeText(this.#tokens.length)
  }

  /**
   * Takes the text up to one of these key words, symbols or phrases outside parentheses, to an unmatched closing
   * parenthesis, or to the end.
   */
  textUntil(...ends: readonly string[]): string {
    return this.#takeText(endOfText(this.#tokens, this.#at, ends))
  }

  /** True where `textUntil` would stop before the end. */
  isAhead(...ends: readonly string[]): boolean {
    return endOfText(this.#tokens, this.#at, ends) < this.#tokens.length
  }

  /** True before `(a, b)`: a list of names in parentheses. */
  isList(): boolean {
    const [open, name, next] = this.#tokens.slice(this.#at, this.#at + 3)
    const isName = name?.kind === 'name' || (name?.kind === 'word' && !QUERY_WORDS.has(name.text))
    return open?.text === '(' && isName && (next?.text === ',' || next?.text === ')')
  }

  /** `(a, b)`. */
  nameList(what: string): readonly string[] {
    const names: string[] = []
    this.expectSymbol('(')
    do names.push(this.name(what))
    while (this.takeSymbol(','))
    this.expectSymbol(')')
    return names
  }

  /** Takes the rest: a query, and the options of a USING at its end. `JOIN t USING (column)` does not count. */
  queryAndOptions(): { readonly query: string; readonly options: Options | null } {
    const at = this.#tokens.findLastIndex((token, index) => {
      const isUsing = token.kind === 'word' && token.value.toLowerCase() === 'using'
      const key = this.#tokens[index + 1]?.kind
      const isOption = (key === 'word' || key === 'name') && this.#tokens[index + 2]?.text === '='
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
    const isEnclosed = first?.text === '(' && this.#closeOf(this.#at) === this.#tokens.length - 1
    const text = this.rest()
    if (!isEnclosed || first === undefined || last === undefined) return text
    return this.#sql.slice(first.end, last.start).trim()
  }

  /** The text between these parentheses, unread. */
  enclosedText(): string {
    const first = this.#tokens[this.#at]
    if (first?.text !== '(') throw this.expected('"("')
    const close = this.#closeOf(this.#at)
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

  /** The place of the parenthesis that closes this one. */
  #closeOf(open: number): number {
    let depth = 0
    for (let at = open; at < this.#tokens.length; at += 1) {
      const text = this.#tokens[at]?.text
      if (text === '(') depth += 1
      if (text === ')') depth -= 1
      if (depth === 0) return at
    }
    return -1
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

  /** A name, plain or quoted. */
  name(what: string): string {
    const token = this.#tokens[this.#at]
    if (token === undefined || (token.kind !== 'word' && token.kind !== 'name')) {
      throw this.expected(what)
    }
    this.#at += 1
    return token.value
  }

  /** @param what `a knowledge base`, for the message when the name is missing */
  qualifiedName(what: string): QualifiedName {
    const first = this.name(`the name of ${what}`)
    if (!this.takeSymbol('.')) return { project: null, name: first }
    const name = this.name(`the name of ${what}`)
    // A file's name may have dots, also without quotes: files.teas.csv.
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

  /** A name of one to three parts: that of a table may have a schema. */
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
   * `key = value, key = value`; the commas may be missing, as an existing client leaves them out.
   * @param queries the keys whose value may be a SELECT in parentheses: its text with them
   */
  options(queries: readonly string[] = []): Readonly<Record<string, unknown>> {
    const options = new Map<string, unknown>()
    do this.#takeOption(options, queries)
    while (this.takeSymbol(',') || this.#at < this.#tokens.length)
    return Object.fromEntries(options)
  }

  /** `(key = value, …)`, or the same to the end of the statement without parentheses. */
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

  /** `{key: value, …}` */
  object(): Options {
    if (!this.isAt('{')) throw this.expected('"{"')
    return this.#json() ?? this.#object(0)
  }

  /** An object as programs write it. JSON has its own escapes. */
  #json(): Options | undefined {
    const first = this.#tokens[this.#at]
    let depth = 0
    for (let at = this.#at; at < this.#tokens.length && depth <= DEPTH_MAX; at += 1) {
      const token = this.#tokens[at]
      if (token?.kind !== 'symbol') continue
      if (token.text === '{') depth += 1
      if (token.text === '}') depth -= 1
      if (depth > 0) continue
      const object = jsonObject(this.#sql.slice(first?.start, token.end))
      if (object !== undefined) this.#at = at + 1
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

  /** `true`, `false`, `null`, or a name as `project.table`. */
  #wordValue(depth: number): unknown {
    const word = this.name('a value')
    if (Object.hasOwn(CONSTANTS, word.toLowerCase())) return CONSTANTS[word.toLowerCase()]
    // Python's form within an object.
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

const CONSTANTS: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  null: null,
}

function jsonObject(text: string): Options | undefined {
  try {
    // It starts with a brace.
    return JSON.parse(text) as Options
  } catch {
    return undefined
  }
}

function shownToken({ kind, text }: Token, isSecret: boolean): string {
  return isSecret && (kind === 'string' || kind === 'name') ? 'a text' : `"${text.slice(0, 40)}"`
}
