/** Translates PostgreSQL's functions, operators and literals to DuckDB where the two differ. */
import { literal } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { isName, type Token, tokenize } from '../../sql/lexer/tokens.ts'
import { CALLS, pathLiteral } from './function-calls.ts'
import { arrayElements } from './statement-text.ts'

/** Functions in FROM that DuckDB lacks there, with the text before and after. */
const SET_FUNCTIONS: Readonly<Record<string, readonly [string, string]>> = {
  generate_series: ['(SELECT unnest(', '))'],
  generate_subscripts: ['', ''],
  string_to_array: ['(SELECT ', ')'],
  unnest: ['', ''],
}
const NO_ALIAS =
  /^(where|on|join|left|right|inner|cross|full|group|order|union|limit|with|using|natural)$/i
/** Array types that have the same name in DuckDB. */
const SHARED_TYPE =
  /^(int[248]?|integer|bigint|smallint|text|varchar|numeric|float[48]|real|bool|boolean|date|timestamp|timestamptz|uuid)$/
/** DuckDB functions that take a list, such as the one `generate_series` returns. */
const LIST_FUNCTION = /^(unnest|len|apply|filter|reduce|(list|array)_\w+)$/i
const ARROW = /^(->>?|#)$/
const CLAUSE = /^(select|from|where|group|order|having|limit|window|union|qualify|returning)$/i
const MATCHES = new Set(['~', '!~', '~*', '!~*'])
/** After these words, `~` has no left operand and means bitwise NOT. */
const NO_OPERAND =
  /^(select|where|and|or|not|when|then|else|by|case|on|having|in|limit|distinct|all)$/i

const HINT = new RegExp(
  `~|\\\\|#>|->|\\boperator\\s*\\(|'\\{|\\bjsonb\\b|\\bctid\\b|\\b(?:${[...Object.keys(CALLS), ...Object.keys(SET_FUNCTIONS)].join('|')})\\b`,
  'i',
)
/** A limit, because some translations repeat their arguments. */
const TEXT_MAX = 1_000_000
const DEPTH_MAX = 200

/** @throws AppError `sql_syntax`, or `sql_not_supported` if the result is too long */
export function inDuckDb(sql: string): string {
  return HINT.test(sql) ? new Translation(sql).text() : sql
}

interface Taken {
  readonly text: string
  /** The index after the last token that is replaced. */
  readonly end: number
}

class Translation {
  readonly #sql: string
  readonly #tokens: readonly Token[]
  /** The index of the closing bracket by the index of the opening one. */
  readonly #closings = new Map<number, number>()
  readonly #openings = new Map<number, number>()
  /** Tokens around which a pair of brackets must be added. */
  readonly #firsts = new Set<number>()
  readonly #lasts = new Set<number>()
  /** For each token, the keyword that began its clause within the same brackets. */
  readonly #clauses: string[] = []
  #depth = 0

  constructor(sql: string) {
    this.#sql = sql
    this.#tokens = tokenize(sql)
    const open: number[] = []
    const arrows: number[] = []
    const clauses = ['']
    for (const [index, { kind, text }] of this.#tokens.entries()) {
      const isClause = kind === 'word' && CLAUSE.test(text) && this.#word(index - 1) !== 'distinct'
      if (isClause) clauses[clauses.length - 1] = text.toLowerCase()
      this.#clauses.push(clauses.at(-1) ?? '')
      if (kind !== 'symbol') continue
      if (text === '(' || text === '[') {
        open.push(index)
        clauses.push('')
      } else if (text === ')' || text === ']') {
        const opening = open.pop() ?? -1
        this.#closings.set(opening, index)
        this.#openings.set(index, opening)
        clauses.pop()
      } else if (ARROW.test(text) && !LIST_FUNCTION.test(this.#word((open.at(-1) ?? 0) - 1))) {
        arrows.push(index)
      }
    }
    for (const index of arrows) this.#arrow(index)
  }

  text(): string {
    return this.#range(0, this.#tokens.length) + this.#sql.slice(this.#tokens.at(-1)?.end)
  }

  /** Returns the translated tokens with the spaces and comments between them. */
  #range(from: number, to: number): string {
    let text = ''
    let at = from === 0 ? 0 : (this.#tokens[from]?.start ?? 0)
    for (let index = from; index < to; ) {
      const token = this.#at(index)
      text += this.#sql.slice(at, token.start)
      const { text: put, end } = this.#taken(index) ?? { text: token.text, end: index + 1 }
      text += `${this.#firsts.has(index) ? '(' : ''}${put}${this.#lasts.has(end - 1) ? ')' : ''}`
      if (text.length > TEXT_MAX) {
        const message = 'The statement is too long after its translation for DuckDB'
        throw new AppError('sql_not_supported', message)
      }
      at = this.#at(end - 1).end
      index = end
    }
    return text
  }

  #at(index: number): Token {
    return this.#tokens[index] ?? END_TOKEN
  }

  #word(index: number): string {
    const { kind, value } = this.#at(index)
    return kind === 'word' ? value.toLowerCase() : ''
  }

  #taken(index: number): Taken | undefined {
    const token = this.#at(index)
    const { kind, text } = token
    if (kind === 'string') return this.#pattern(index) ?? this.#array(index)
    if (kind === 'symbol') {
      if (MATCHES.has(text)) return this.#match(index, text)
      return text === '#' ? this.#path(index) : this.#oneOf(index)
    }
    if (!isName(token)) return undefined
    const word = this.#word(index)
    if (word === 'operator' && this.#at(index + 1).text === '(') return this.#operator(index)
    if (word === 'jsonb') return this.#jsonb(index)
    if (word === 'ctid') return this.#rowPlace(index)
    const isPrefixed = word === 'pg_catalog' && this.#at(index + 1).text === '.'
    return this.#call(isPrefixed ? index + 2 : index, index)
  }

  /** @param first the index where the name begins, including its schema */
  #call(index: number, first: number): Taken | undefined {
    const name = this.#at(index).value.toLowerCase()
    const close = this.#closings.get(index + 1)
    if (this.#at(index + 1).text !== '(' || close === undefined) return undefined
    if (first === index && this.#at(index - 1).text === '.') return undefined
    const set = Object.hasOwn(SET_FUNCTIONS, name) ? SET_FUNCTIONS[name] : undefined
    const call = Object.hasOwn(CALLS, name) ? CALLS[name] : undefined
    if ((set === undefined && call === undefined) || this.#depth >= DEPTH_MAX) return undefined
    this.#depth += 1
    const text = this.#called(name, index, close)
    this.#depth -= 1
    const end = close + 1
    if (set === undefined) return { text: this.#named(text, { index, first, end }), end }
    if (this.#isInFrom(first)) return this.#inFrom(`${set[0]}${text}${set[1]}`, close)
    const isList = this.#at(first - 1).text === '(' && LIST_FUNCTION.test(this.#word(first - 2))
    const changed = name === 'generate_series' && !isList ? `unnest(${text})` : text
    return { text: this.#named(changed, { index, first, end }), end }
  }

  #called(name: string, index: number, close: number): string {
    const call = Object.hasOwn(CALLS, name) ? CALLS[name] : undefined
    const written = this.#at(index).text
    if (typeof call !== 'function') return `${call ?? written}(${this.#range(index + 2, close)})`
    const args = this.#arguments(index + 2, close)
    return call(args) ?? `${written}(${args.join(', ')})`
  }

  #arguments(from: number, close: number): readonly string[] {
    const parts: string[] = []
    let start = from
    for (let index = from; index <= close; index += 1) {
      const end = this.#closings.get(index)
      if (end !== undefined && index < close) {
        index = end
        continue
      }
      if (index !== close && this.#at(index).text !== ',') continue
      if (index > start) parts.push(this.#range(start, index))
      start = index + 1
    }
    return parts
  }

  #isInFrom(index: number): boolean {
    const before = this.#at(index - 1).text
    if (/^(from|join|lateral)$/i.test(before)) return true
    return before === ',' && this.#clauses[index - 1] === 'from'
  }

  /** Names a column that has no alias after its function, as PostgreSQL does. */
  #named(
    text: string,
    call: { readonly index: number; readonly first: number; readonly end: number },
  ): string {
    const isColumn = this.#depth === 0 && this.#clauses[call.index] === 'select'
    const isFirst = /^(select|,)$/i.test(this.#at(call.first - 1).text)
    const isLast = /^(,|from|\)|;|)$/i.test(this.#at(call.end).text)
    const name = this.#at(call.index).text.toLowerCase()
    return isColumn && isFirst && isLast ? `${text} AS "${name.replaceAll('"', '')}"` : text
  }

  /** In PostgreSQL, the alias of a function with one column also names that column. */
  #inFrom(text: string, close: number): Taken {
    const at = this.#word(close + 1) === 'as' ? close + 2 : close + 1
    const alias = this.#at(at)
    if (!isName(alias) || NO_ALIAS.test(alias.text) || this.#at(at + 1).text === '(') {
      return { text, end: close + 1 }
    }
    return { text: `${text} AS ${alias.text}(${alias.text})`, end: at + 1 }
  }

  /** In PostgreSQL, a backslash in a LIKE pattern escapes the next character. */
  #pattern(index: number): Taken | undefined {
    const { value, text } = this.#at(index)
    // `E'…'` is tokenized as the word E and a string.
    const before = this.#word(index - 1) === 'e' ? index - 2 : index - 1
    const isPattern = /^i?like$/i.test(this.#at(before).text) && value.includes('\\')
    if (!isPattern || this.#word(index + 1) === 'escape') return undefined
    return { text: `${text} ESCAPE '\\'`, end: index + 1 }
  }

  /** Translates `ANY ('{r,v}')` and `'{r,v}'::text[]` to DuckDB lists. */
  #array(index: number): Taken | undefined {
    const { value } = this.#at(index)
    if (!/^\{.*\}$/s.test(value)) return undefined
    const isQuantified = /^(any|all|some)$/i.test(this.#at(index - 2).text)
    const castEnd = this.#at(index + 1).text === '::' ? this.#nameEnd(index + 2) : index + 1
    const isArray = this.#at(castEnd).text === '[' && castEnd > index + 1
    if (!isQuantified && !isArray) return undefined
    const elements = arrayElements(value).map((one) => (one === null ? 'NULL' : literal(one)))
    const list = `[${elements.join(', ')}]`
    if (!isArray) return { text: list, end: castEnd }
    const type = this.#word(castEnd - 1)
    return { text: SHARED_TYPE.test(type) ? `${list}::${type}[]` : list, end: castEnd + 2 }
  }

  /** `= ANY ('{1,2}'::oid[])` becomes `IN ('1', '2')`, whose literals take the left type. */
  #oneOf(index: number): Taken | undefined {
    const operator = `${this.#at(index).text} ${this.#word(index + 1)}`
    const word = { '= any': 'IN', '= some': 'IN', '<> all': 'NOT IN', '!= all': 'NOT IN' }[operator]
    const { kind, value } = this.#at(index + 3)
    const close = this.#closings.get(index + 2)
    const isLiteral = kind === 'string' && /^\{.*\}$/s.test(value)
    if (word === undefined || !isLiteral || close === undefined) return undefined
    if (this.#keyEnd(index + 3) !== close) return undefined
    const elements = arrayElements(value).map((one) => (one === null ? 'NULL' : literal(one)))
    return elements.length === 0
      ? undefined
      : { text: `${word} (${elements.join(', ')})`, end: close + 1 }
  }

  /** Returns the index after a name and its schema. */
  #nameEnd(index: number): number {
    return this.#at(index + 1).text === '.' ? index + 3 : index + 1
  }

  #operator(index: number): Taken | undefined {
    const close = this.#closings.get(index + 1)
    if (close === undefined) return undefined
    const signs = this.#tokens.slice(index + 2, close).filter(({ kind, text }) => {
      return kind === 'symbol' && text !== '.'
    })
    const sign = signs.map(({ text }) => text).join('')
    const match = MATCHES.has(sign) ? this.#match(close, sign) : undefined
    return match ?? { text: sign, end: close + 1 }
  }

  /** PostgreSQL searches within the text, DuckDB matches all of it. @param index last token */
  #match(index: number, sign: string): Taken | undefined {
    const before = this.#at(index - 1)
    const isBits =
      before.kind === 'symbol' ? !/^[)\]]$/.test(before.text) : NO_OPERAND.test(before.text)
    const pattern = this.#at(index + 1)
    if (sign === '~' && pattern.kind !== 'string' && (isBits || index === 0)) return undefined
    const operator = sign.startsWith('!') ? '!~' : '~'
    const flags = sign.endsWith('*') ? '(?is)' : '(?s)'
    if (pattern.kind === 'string') {
      return { text: `${operator} ${literal(`${flags}.*?(?:${pattern.value}).*`)}`, end: index + 2 }
    }
    const end = this.#operandEnd(index + 1)
    if (this.#depth >= DEPTH_MAX) return undefined
    this.#depth += 1
    const operand = this.#range(index + 1, end)
    this.#depth -= 1
    return { text: `${operator} ('${flags}.*?(?:' || ${operand} || ').*')`, end }
  }

  /** Returns the index after a name, a call, or an expression in brackets. */
  #operandEnd(index: number): number {
    let end = index
    while (this.#at(end + 1).text === '.') end += 2
    if (this.#at(end).kind !== 'symbol') end += 1
    for (
      let close = this.#closings.get(end);
      close !== undefined;
      close = this.#closings.get(end)
    ) {
      end = close + 1
    }
    return Math.max(end, index + 1)
  }

  /** DuckDB reads `value -> 'a' ->> 'b' = 'x'` as `value -> ('a' ->> ('b' = 'x'))`. */
  #arrow(index: number): void {
    const key = this.#at(index + 1).text.startsWith('>') ? index + 2 : index + 1
    const end = this.#keyEnd(key)
    if (end === undefined || (this.#at(index).text === '#' && key === index + 1)) return
    const isChained = this.#lasts.delete(index - 1)
    if (!isChained) this.#firsts.add(this.#operandStart(index - 1))
    this.#lasts.add(end - 1)
  }

  /** Returns the index after a literal key or path; undefined for anything else. */
  #keyEnd(index: number): number | undefined {
    const { kind } = this.#at(index)
    if (kind !== 'string' && kind !== 'number' && this.#word(index) !== 'array') return undefined
    let end = (kind === 'word' ? (this.#closings.get(index + 1) ?? index) : index) + 1
    if (this.#at(end).text !== '::') return end
    end = this.#nameEnd(end + 1)
    return this.#at(end).text === '[' ? end + 2 : end
  }

  /** The index where the operand that ends here begins: a name, call, literal or bracket. */
  #operandStart(last: number): number {
    let start = last
    for (;;) {
      const opening = this.#openings.get(start)
      const before = this.#at((opening ?? start) - 1)
      if (opening === undefined) {
        if (before.text === '.') start -= 2
        else if (before.text === '::') start -= 2
        else return start
      } else {
        const isCall = isName(before) && !NO_OPERAND.test(before.text)
        const isIndex = this.#at(opening).text === '['
        if (!isIndex && !isCall) return opening
        start = opening - 1
      }
    }
  }

  /** Translates `value #>> '{a,b}'`. */
  #path(index: number): Taken | undefined {
    const arrow = { '>': '->', '>>': '->>' }[this.#at(index + 1).text]
    const end = this.#keyEnd(index + 2)
    if (arrow === undefined || end === undefined) return undefined
    const { kind, value } = this.#at(index + 2)
    const listed = this.#tokens.slice(index + 2, end).filter((token) => token.kind === 'string')
    const keys = kind === 'string' ? arrayElements(value) : listed.map((token) => token.value)
    const text = pathLiteral(keys)
    return text === undefined ? undefined : { text: `${arrow} ${text}`, end }
  }

  #jsonb(index: number): Taken | undefined {
    const before = this.#at(index - 1)
    const isType =
      before.text === '::' ||
      (this.#word(index - 1) === 'as' && this.#at(index + 1).text === ')') ||
      this.#at(index + 1).kind === 'string' ||
      (/^(create|alter)$/.test(this.#word(0)) && isName(before))
    return isType ? { text: 'JSON', end: index + 1 } : undefined
  }

  /** Handles `ctid`, which tools select next to `*` if a table has no key. */
  #rowPlace(index: number): Taken | undefined {
    const isChosen =
      this.#at(index - 1).text === ',' && /^(from|,)$/i.test(this.#at(index + 1).text)
    const isRead = this.#word(0) === 'select'
    return isChosen && isRead ? { text: 'NULL::VARCHAR AS ctid', end: index + 1 } : undefined
  }
}

const END_TOKEN: Token = { kind: 'symbol', text: '', value: '', start: 0, end: 0 }
