/** Statements of a text that end with `;`, outside of strings, names and comments. */

export interface SplitText {
  /** Without their semicolons, none empty. */
  readonly statements: readonly string[]
  /** What has no semicolon yet; blank where nothing is left but spaces and comments. */
  readonly rest: string
}

/** One of what may hold a semicolon that ends nothing, up to its end, or up to the end of the text where that is missing. */
const UNSPLIT =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)|;/g

export function splitStatements(text: string): SplitText {
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
