/** Which statement of a text is meant, and where an error of it stands. Pure. */
import {
  codeOf,
  type Span,
  statementsOf,
  withoutComments,
} from '../../components/editor/sql-code.ts'

/** What runs: the selection, else the statement at the cursor. */
export function meantStatement(text: string, { from, to }: Span): Span | undefined {
  if (text.slice(from, to).trim() !== '') return { from, to }
  const all = statementsOf(text)
  return all.find((span) => from <= span.to + 1) ?? all.at(-1)
}

/** What ran, as long as it is a statement of the text, unchanged; else what would run now. */
export function statementAtHand(text: string, ran: string | undefined, at: Span): string {
  const isThere = statementsOf(text).some(({ from, to }) => text.slice(from, to) === ran)
  if (ran !== undefined && isThere) return ran
  const span = meantStatement(text, at)
  return span === undefined ? '' : text.slice(span.from, span.to)
}

/** Names of `:name` in a statement, each once. */
export function parametersOf(sql: string): readonly string[] {
  const found = [...codeOf(sql).matchAll(/(?<![:\w]):([a-z_]\w*)/gi)].map(([, name = '']) => name)
  return [...new Set(found)]
}

/** How a statement begins that changes no names. What runs by a link is the server's to judge. */
export function isReading(sql: string): boolean {
  return /^\(*\s*(select|with|show|describe|from|values|explain|set|use)\b/i.test(
    withoutComments(sql),
  )
}

/** Where a message says that it is wrong, within the statement; undefined where it names no place. */
export function placeOfError(message: string, sql: string): Span | undefined {
  const at = placeNamed(message, sql) ?? placeOfName(message, sql)
  if (at === undefined) return undefined
  const word = /^(?:"[^"\n]+"|:?[\p{L}\p{N}_]+|.)/u.exec(sql.slice(at))?.[0] ?? ''
  return { from: at, to: at + word.length }
}

/** By `line 2, column 5` and the line with a caret below it. Columns count characters as people do: an emoji is one. */
function placeNamed(message: string, sql: string): number | undefined {
  const named = /^line (\d+), column (\d+)[^\n]*(?:\n([^\n]*)\n( *)\^)?/m.exec(message)
  if (named === null) return undefined
  const [, line, column, excerpt = '', lead = ''] = named
  const lines = sql.split('\n')
  const before = lines.slice(0, Number(line) - 1)
  const start = before.reduce((sum, one) => sum + one.length + 1, 0)
  const told = start + unitsOf(lines[Number(line) - 1] ?? '', Number(column) - 1)
  // A SELECT within another statement may count from its own beginning: what is shown of it tells.
  const inExcerpt = unitsOf(excerpt, lead.length)
  if (excerpt.trim() === '' || sql.startsWith(excerpt, told - inExcerpt)) {
    return Math.min(told, sql.length)
  }
  const found = sql.indexOf(excerpt)
  return found === -1 ? undefined : found + inExcerpt
}

/** How many code units so many characters are. */
function unitsOf(text: string, chars: number): number {
  return [...text].slice(0, chars).join('').length
}

/** By the name in quotes that the message speaks of, or the parameter that is not set. */
function placeOfName(message: string, sql: string): number | undefined {
  const [head = ''] = message.split('\n')
  const [, parameter] = /^Parameter is not set: (\w+)/.exec(head) ?? []
  if (parameter !== undefined) return foundAt(sql, new RegExp(`:${parameter}\\b`, 'i'))
  const [, name] = /["']([\p{L}\p{N}_]+)["']/u.exec(head) ?? []
  if (name === undefined) return undefined
  return foundAt(sql, new RegExp(`(?<![\\p{L}\\p{N}_])${name}(?![\\p{L}\\p{N}_])`, 'iu'))
}

function foundAt(sql: string, pattern: RegExp): number | undefined {
  const at = codeOf(sql).search(pattern)
  if (at !== -1) return at
  const anywhere = sql.search(pattern)
  return anywhere === -1 ? undefined : anywhere
}
