/** Which parts of a text are SQL, and where its statements end. Pure. */

export interface Span {
  readonly from: number
  readonly to: number
}

/** String literals, quoted names, comments. */
const NOT_CODE =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`[^`]*`?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(\$[a-z_]*\$)[\s\S]*?(?:\1|$)/gi
const COMMENT = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g

/** The same text with blanks for literals and comments. */
export function codeOf(text: string): string {
  return text.replaceAll(NOT_CODE, (found) => found.replaceAll(/[^\n]/g, ' '))
}

/** Whether the end is within a literal or a comment. A quoted name is code here. */
export function endsInText(before: string): boolean {
  // A following letter belongs to a literal or comment that is still open, or to none.
  const last = [...`${before}x`.matchAll(NOT_CODE)].at(-1)
  return last !== undefined && last.index + last[0].length > before.length && !/^["`]/.test(last[0])
}

/** The statements of a text, without semicolons. A comment alone is not one. */
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

/** To find how a statement starts. May cut off the end of a literal that contains `--`. */
export function withoutComments(sql: string): string {
  return sql.replaceAll(COMMENT, ' ').trim()
}
