import { isName, spliced, type Token, tokenize } from './tokens.ts'

/**
 * A statement without its plain values. Statements that differ only in values have the same shape.
 */
export interface StatementShape {
  /** With marks in place of values: equal values share one, different values never do. */
  readonly sql: string
  /** Values as written, by their marks. */
  readonly literals: ReadonlyMap<string, string>
}

/** A statement with these digits has no shape, so that marks are unambiguous in a plan. */
const MARK_DIGITS = '718281'
const LITERALS_MAX = 100

/** A mark gives a value's type to DuckDB: INTEGER, DECIMAL with the same digits, or short text. */
const INTEGER = /^(?:0|[1-9]\d{0,8})$/
const DECIMAL = /^(?:0|[1-9]\d{0,7})\.\d{1,8}$/
const PLAIN_TEXT = /^'[^'\\\p{Cc}\p{Cs}]{0,200}'$/u

const BEFORE = new Set(
  '= < > <= >= <> != == ( , + * / % select distinct between and then else when or not'.split(' '),
)
/** After these, a number is not a plain value: a cast, an access into a value, or a slice. */
const NOT_AFTER = new Set(':: . [ ( : -> ->>'.split(' '))

/** `free-literals.ts` finds values that never change the plan. @param kept to leave in place */
export function shapeOf(
  sql: string,
  tokens: readonly Token[],
  kept: ReadonlySet<string> = NO_NAMES,
): StatementShape | null {
  if (sql.includes(MARK_DIGITS)) return null
  const marks = new Map<string, string>()
  const parts: { start: number; end: number; text: string }[] = []
  for (const [index, token] of tokens.entries()) {
    const markOf = isLiteralAt(tokens, index) && !kept.has(token.text) ? markFor(token) : undefined
    if (markOf === undefined) continue
    const mark = marks.get(token.text) ?? markOf(marks.size)
    marks.set(token.text, mark)
    parts.push({ start: token.start, end: token.end, text: mark })
  }
  if (marks.size === 0 || marks.size > LITERALS_MAX) return null
  const literals = new Map([...marks].map(([text, mark]) => [mark, text]))
  return { sql: spliced(sql, parts), literals }
}

const NO_NAMES: ReadonlySet<string> = new Set()

function isLiteralAt(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text.toLowerCase()
  const after = tokens[index + 1]?.text
  return (
    before !== undefined && BEFORE.has(before) && (after === undefined || !NOT_AFTER.has(after))
  )
}

function markFor({ kind, text }: Token): ((index: number) => string) | undefined {
  if (kind === 'number' && INTEGER.test(text)) return (index) => `${MARK_DIGITS}${100 + index}`
  if (kind === 'number' && DECIMAL.test(text)) return (index) => `${MARK_DIGITS}${10 + index}.5`
  if (kind === 'string' && PLAIN_TEXT.test(text))
    return (index) => `'${MARK_DIGITS}${100 + index}x'`
  return undefined
}

const SHAPE_MARKS = new RegExp(`'${MARK_DIGITS}\\d{3}x'|\\b${MARK_DIGITS}\\d{2,3}(?:\\.5)?\\b`, 'g')

export function holdsMarks(text: string): boolean {
  return text.includes(MARK_DIGITS)
}

/** A text with marks, split at the marks for fast assembly. */
export class MarkedText {
  readonly #parts: readonly string[]
  readonly #marks: readonly string[]

  constructor(text: string) {
    this.#parts = text.split(SHAPE_MARKS)
    this.#marks = text.match(SHAPE_MARKS) ?? []
  }

  get marks(): readonly string[] {
    return this.#marks
  }

  with(literals: ReadonlyMap<string, string>): string {
    let text = this.#parts[0] ?? ''
    for (const [index, mark] of this.#marks.entries()) {
      text += (literals.get(mark) ?? mark) + (this.#parts[index + 1] ?? '')
    }
    return text
  }
}

/** A statement whose search texts became parameters, with their values. */
export interface ParameterizedStatement {
  readonly sql: string
  /** Texts by parameter, for example `eider_text_0`. */
  readonly texts: ReadonlyMap<string, string>
}

/** Tokens that can follow a text that is a whole operand. A cast or an operator cannot. */
const ENDS = new Set(') , ; and or limit offset order group having qualify union except'.split(' '))

const PREFIX = 'eider_text_'

export function isLiteralParameter(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** Searches with different texts share a plan, unless `content` is not a search column. */
export function parameterizeSearchLiterals(
  sql: string,
  tokens: readonly Token[] = plainTokens(sql),
): ParameterizedStatement {
  const texts = new Map<string, string>()
  if (!/content/i.test(sql)) return { sql, texts }
  const parts = tokens.flatMap(({ value, start, end }, index) => {
    if (!isSearchText(tokens, index)) return []
    const name = `${PREFIX}${texts.size}`
    texts.set(name, value)
    return { start, end, text: `$${name}` }
  })
  return { sql: spliced(sql, parts), texts }
}

/** Text that cannot be tokenized is left to planning, which reports the error. */
export function plainTokens(sql: string): readonly Token[] {
  try {
    return tokenize(sql)
  } catch {
    return []
  }
}

function isSearchText(tokens: readonly Token[], index: number): boolean {
  const [column, operator, text, next] = tokens.slice(Math.max(0, index - 2), index + 2)
  return (
    index >= 2 &&
    text?.kind === 'string' &&
    text.text.startsWith("'") &&
    operator?.text === '=' &&
    isName(column) &&
    column.value.toLowerCase() === 'content' &&
    (next === undefined || ENDS.has(next.text.toLowerCase()))
  )
}
