/** Which statement of a text is meant, and where an error of it stands. Pure. */

export interface Span {
  readonly from: number
  readonly to: number
}

/** What is not code: texts, names in quotes, comments. */
const NOT_CODE =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\$\$[\s\S]*?(?:\$\$|$)/g

/** The statements of a text, without the semicolons between them. */
export function statementsOf(text: string): readonly Span[] {
  const masked = text.replaceAll(NOT_CODE, (found) => ' '.repeat(found.length))
  const spans: Span[] = []
  let from = 0
  for (const end of [...masked.matchAll(/;/g)].map(({ index }) => index).concat(masked.length)) {
    const piece = text.slice(from, end)
    const lead = piece.length - piece.trimStart().length
    if (piece.trim() !== '') spans.push({ from: from + lead, to: from + piece.trimEnd().length })
    from = end + 1
  }
  return spans
}

/** What runs: the selection, else the statement at the cursor. */
export function meantStatement(text: string, { from, to }: Span): Span | undefined {
  if (text.slice(from, to).trim() !== '') return { from, to }
  const all = statementsOf(text)
  return all.find((span) => from <= span.to + 1) ?? all.at(-1)
}

/** Names of `:name` in a statement, each once. */
export function parametersOf(sql: string): readonly string[] {
  const masked = sql.replaceAll(NOT_CODE, (found) => ' '.repeat(found.length))
  const found = [...masked.matchAll(/(?<![:\w]):([a-z_]\w*)/gi)].map(([, name = '']) => name)
  return [...new Set(found)]
}

/** The offset that a line `line 2, column 5` of it names; undefined where the message names none. */
export function placeOfError(message: string, sql: string): number | undefined {
  const [, line, column] = /^line (\d+), column (\d+)/m.exec(message) ?? []
  if (line === undefined || column === undefined) return undefined
  const before = sql.split('\n').slice(0, Number(line) - 1)
  const start = before.reduce((sum, one) => sum + one.length + 1, 0)
  return Math.min(sql.length, start + Number(column) - 1)
}

/** Whether a statement only reads, so that a link may run it by itself. */
export function isReading(sql: string): boolean {
  const masked = sql.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ').trim()
  return (
    /^(select|with|show|describe|from|values)\b/i.test(masked) && statementsOf(sql).length === 1
  )
}
