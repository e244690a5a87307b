/** Statements of a text that end with `;`, outside of strings, names and comments. */

/** A token that may contain a semicolon, to its end, or to the end of the text if it is unclosed. */
const UNSPLIT =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)|;/g

export function splitStatements(text: string): {
  /** Without semicolons, none empty. */
  readonly statements: readonly string[]
  /** Text without a semicolon so far; blank if only spaces and comments are left. */
  readonly rest: string
} {
  const statements: string[] = []
  let start = 0
  for (const match of text.matchAll(UNSPLIT)) {
    if (match[0] !== ';') continue
    const statement = text.slice(start, match.index).trim()
    if (!isBlank(statement)) statements.push(statement)
    start = match.index + 1
  }
  const rest = text.slice(start)
  return { statements, rest: isBlank(rest) ? '' : rest }
}

/** Nothing but spaces and comments. */
function isBlank(text: string): boolean {
  return text.replaceAll(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, '').trim() === ''
}
