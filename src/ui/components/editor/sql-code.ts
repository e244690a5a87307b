/** Finds the parts of a text that are SQL code, and the ends of its statements. Pure functions. */

export interface Span {
  readonly from: number
  readonly to: number
}

/** Matches string literals, quoted names and comments. */
const NOT_CODE =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`[^`]*`?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(\$[a-z_]*\$)[\s\S]*?(?:\1|$)/gi
const COMMENT = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g

/** The text with literals and comments replaced by spaces. */
export function codeOf(text: string): string {
  return text.replaceAll(NOT_CODE, (found) => found.replaceAll(/[^\n]/g, ' '))
}

/** Whether the end is inside a literal or a comment. A quoted name counts as code here. */
export function endsInText(before: string): boolean {
  // A letter is appended: it belongs to the last match only if that is still open.
  const last = [...`${before}x`.matchAll(NOT_CODE)].at(-1)
  return last !== undefined && last.index + last[0].length > before.length && !/^["`]/.test(last[0])
}

/** The statements of a text, without semicolons. A comment alone is not a statement. */
export function statementsOf(text: string): readonly Span[] {
  const code = codeOf(text)
  const spans: Span[] = []
  let from = 0
  for (const end of [...code.matchAll(/;/g)].map(({ index }) => index).concat(code.length)) {
    const piece = text.slice(from, end)
    const lead = piece.length - piece.trimStart().length
    if (withoutComments(piece) !== '') {
      spans.push({ from: from + lead, to: from + piece.trimEnd().length })
    }
    from = end + 1
  }
  return spans
}

/** To find how a statement starts. May cut off a literal that contains `--`. */
export function withoutComments(sql: string): string {
  return sql.replaceAll(COMMENT, ' ').trim()
}
