/** Which parts of a text are SQL, and where its statements end. Pure. */

export interface Span {
  readonly from: number
  readonly to: number
}

/** What is not code: texts, names in quotes, comments. */
const NOT_CODE =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`[^`]*`?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(\$[a-z_]*\$)[\s\S]*?(?:\1|$)/gi
const COMMENT = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g

/** The same text, with blanks for all that is not code. */
export function codeOf(text: string): string {
  return text.replaceAll(NOT_CODE, (found) => found.replaceAll(/[^\n]/g, ' '))
}

/** Whether what is written at the end of it is part of a text or a comment. A name in quotes is code here. */
export function endsInText(before: string): boolean {
  // A letter behind it belongs to a text, a name or a comment that is still open, or to none.
  const last = [...`${before}x`.matchAll(NOT_CODE)].at(-1)
  return last !== undefined && last.index + last[0].length > before.length && !/^["`]/.test(last[0])
}

/** The statements of a text, without the semicolons between them. A comment alone is none. */
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

/** For how a statement begins: a text that holds `--` may lose its end. */
export function withoutComments(sql: string): string {
  return sql.replaceAll(COMMENT, ' ').trim()
}
