/** Decodes backslash escapes in strings. */

/** `''`; also `\'`, as some clients do; or all escapes of `E'…'` (PostgreSQL 4.1.2.2). */
export type StringEscapes = 'standard' | 'backslash' | 'all'

interface Escaped {
  /** Null if the escape does not denote a character. */
  readonly value: string | null
  /** The length of the escape as written, in code units. */
  readonly length: number
}

const ESCAPED_LETTERS: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
}

/** UTF-8 bytes. Adjacent ones form a character together. */
const ESCAPED_BYTES = /(?:\\x[0-9a-fA-F]{1,2}|\\[0-7]{1,3})+/y
const CODE_POINT = /\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y
const CODE_POINT_MAX = 0x10_ff_ff

export function escapeAt(sql: string, at: number, escapes: StringEscapes): Escaped | undefined {
  if (escapes === 'standard' || at + 1 >= sql.length) return undefined
  const long = escapes === 'all' ? longEscapeAt(sql, at) : undefined
  if (long !== undefined) return long
  const char = sql[at + 1] ?? ''
  return { value: ESCAPED_LETTERS[char] ?? char, length: 2 }
}

function longEscapeAt(sql: string, at: number): Escaped | undefined {
  ESCAPED_BYTES.lastIndex = at
  const [bytes] = ESCAPED_BYTES.exec(sql) ?? []
  if (bytes !== undefined) return { value: unescapedText(bytes), length: bytes.length }
  CODE_POINT.lastIndex = at
  const [point] = CODE_POINT.exec(sql) ?? []
  if (point === undefined) return undefined
  const number = Number.parseInt(point.slice(2), 16)
  const value = number > CODE_POINT_MAX ? null : String.fromCodePoint(number)
  return { value, length: point.length }
}

function unescapedText(escapes: string): string | null {
  const bytes = escapes
    .split('\\')
    .slice(1)
    .map((digits) => {
      const isHex = digits.startsWith('x')
      return isHex ? Number.parseInt(digits.slice(1), 16) : Number.parseInt(digits, 8)
    })
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return decoder.decode(Uint8Array.from(bytes))
  } catch {
    // Not valid UTF-8. The caller knows the position and reports it.
    return null
  }
}
