// Statements as people see them. For DuckDB, `@name` and `@@name` are parameters with generated
// names, because their values are known only when the statement runs.

const USER_PREFIX = 'eider_variable_'
const SYSTEM = 'eider_system_'

interface VariableName {
  /** `user`: set by SET @name. `system`: `@@name`, and values of the request itself. */
  readonly kind: 'user' | 'system'
  /** In lower case. */
  readonly name: string
}

/** Returns the parameter for `@name`. Names are compared ignoring case. */
export function variableParameter(kind: VariableName['kind'], name: string): string {
  // Lower-casing İ adds a combining mark, which parameter names may not contain.
  const key = name.toLowerCase().replaceAll(/\p{M}/gu, '')
  return `${kind === 'user' ? USER_PREFIX : SYSTEM}${key}`
}

/** Returns the variable of a parameter; undefined for a client's own parameter. */
export function variableOf(parameter: string): VariableName | undefined {
  if (parameter.startsWith(USER_PREFIX))
    return { kind: 'user', name: parameter.slice(USER_PREFIX.length) }
  if (parameter.startsWith(SYSTEM)) return { kind: 'system', name: parameter.slice(SYSTEM.length) }
  return undefined
}

/** Returns DuckDB's text with variables as they were written. */
export function asWritten(text: string): string {
  return text.replaceAll(`$${USER_PREFIX}`, '@').replaceAll(`$${SYSTEM}`, '@@')
}

/**
 * Returns the statement with variables as they were written, and the same position in it.
 * @param offset in code points, as DuckDB counts
 * @returns `at` in UTF-16 code units
 */
export function placeAsWritten(text: string, offset: number) {
  return { text: asWritten(text), at: asWritten([...text].slice(0, offset).join('')).length }
}

/** Returns `line 2, column 5` for a position, both counted from 1, in characters. */
export function lineAndColumn(text: string, at: number): string {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = [...before.slice(before.lastIndexOf('\n') + 1)].length + 1
  return `line ${line}, column ${column}`
}

const EXCERPT_CHARS = 120

/** The line with a caret below. Tabs become spaces to keep the caret in position. */
export function lineWithCaret(text: string, at: number): string {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const [line = ''] = text.slice(lineStart).split('\n')
  const column = [...text.slice(lineStart, at)].length
  const start = Math.max(0, column - EXCERPT_CHARS / 2)
  const shown = [...line].slice(start, start + EXCERPT_CHARS).join('')
  return `${shown.replaceAll(/[\t\r\0]/g, ' ')}\n${' '.repeat(column - start)}^`
}

const SECRET_NAME = String.raw`(?:(?:key|secret|token|passw|pasw|pwd|credential|authorization|cookie)[\w-]{0,40}["'\`]?|\bidentified\s{1,20}by)\s{0,20}`

/** `'password': 'x'`, `api_key = "x"`, `password: x`, and without a sign in between. */
const NAMED = new RegExp(
  String.raw`(${SECRET_NAME}[:=]?\s{0,20})('(?:[^']|'')*'|"(?:[^"\\]|\\.)*")|(${SECRET_NAME}:(?!:)\s{0,20})([^\s,'"(){}[\]]{1,2000})`,
  'gi',
)

/** Matches the user in `scheme://user:password@host`. */
const USER_OF_URL = /(:\/\/)[^\s'"/]{1,300}@/g

const PARAMETER_OF_URL =
  /([?&][\w-]{0,40}(?:key|token|secret|passw|pwd|signature)[\w-]{0,40}=)[^&\s'"]{1,2000}/gi

/**
 * Replaces every secret, and the login in every address, by `******`. The patterns are bounded,
 * because texts may be long and hostile.
 */
export function withoutSecrets(sql: string): string {
  return sql
    .replaceAll(NAMED, (_all, quoted: string | undefined, _text, bare: string | undefined) => {
      return quoted === undefined ? `${bare}******` : `${quoted}'******'`
    })
    .replaceAll(USER_OF_URL, '$1******@')
    .replaceAll(PARAMETER_OF_URL, '$1******')
}

/** Matches statements about users of other databases. */
const OF_USERS = String.raw`\b(?:create|alter)\s{1,20}(?:users?|role)\b|\bset\s{1,20}password\b`

const HOLDING = new RegExp(
  String.raw`${OF_USERS}|${SECRET_NAME}[:=]?\s{0,20}["']|${SECRET_NAME}:(?!:)|parameters["'\`]?\s{0,20}[=:]?\s{0,20}["'{]`,
  'i',
)

/** Errors then show only a position: a truncated secret would not be recognized. */
export function mayHoldSecrets(sql: string): boolean {
  return HOLDING.test(sql) || withoutSecrets(sql) !== sql
}
