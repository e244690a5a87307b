/** Runs a statement over HTTP. Rows arrive as they are read, or in a format of the server. */
import { CommandError } from '../command-error.ts'
import { connectionLost, type HttpClient, streamLines } from '../http-client.ts'
import type { Output } from '../output.ts'
import { type TableStyle, tableFor } from '../result-table.ts'
import { safeLine } from '../terminal-text.ts'

export interface StatementRequest {
  readonly sql: string
  /** The project for unqualified names. */
  readonly project: string
  readonly params: Readonly<Record<string, unknown>>
}

type StatementAnswer = (
  | { readonly kind: 'ok'; readonly affectedRows: number | null; readonly project: string }
  | {
      readonly kind: 'table'
      readonly columnNames: readonly string[]
      readonly batches: AsyncIterable<readonly (readonly unknown[])[]>
    }
) & {
  readonly warnings: readonly string[]
}

/**
 * @throws CommandError `sql_failed` with the position in the statement, possibly after some rows
 */
export async function runSql(
  request: StatementRequest,
  client: HttpClient,
  signal: AbortSignal,
): Promise<StatementAnswer> {
  const json = { ...statementBody(request), response_format: 'jsonlines' }
  const response = await client.open('POST', '/api/sql/query', { json, signal })
  const lines = streamLines(response, client, signal)
  const first = await lines.next()
  if (first.done === true) throw connectionLost(client.address, null)
  // The server sends a record first, then batches of rows.
  const head = parsedLine(first.value, client.address) as SqlRecord
  if (head.type === 'error') throw statementFailure(head)
  const { warnings = [] } = head
  if (head.type === 'ok') {
    const { affected_rows: affectedRows = null, context } = head
    return { kind: 'ok', affectedRows, project: context?.db ?? request.project, warnings }
  }
  const { column_names: columnNames = [] } = head
  if (head.data !== undefined)
    return { kind: 'table', columnNames, batches: one(head.data), warnings }
  return { kind: 'table', columnNames, batches: rowBatches(lines, client.address), warnings }
}

const MEDIA_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  json: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
} as const

export type RowFormat = keyof typeof MEDIA_TYPES

export async function openRows(
  request: StatementRequest,
  format: RowFormat,
  client: HttpClient,
  signal: AbortSignal,
): Promise<Response | null> {
  const headers = { accept: MEDIA_TYPES[format] }
  const json = statementBody(request)
  const response = await client.open('POST', '/api/sql/query', { json, headers, signal })
  const isRecord = response.headers.get('content-type')?.startsWith('application/json') === true
  if (!isRecord) return response
  // A statement without rows is answered in JSON.
  const record = (await response.json()) as SqlRecord
  if (record.type === 'error') throw statementFailure(record)
  return null
}

function statementBody({ sql, project, params }: StatementRequest) {
  const hasParams = Object.keys(params).length > 0
  return { query: sql, context: { db: project }, ...(hasParams ? { params } : {}) }
}

interface SqlRecord {
  readonly type?: string
  readonly column_names?: readonly string[]
  readonly data?: readonly (readonly unknown[])[]
  readonly affected_rows?: number | null
  readonly context?: { readonly db?: string | null }
  readonly warnings?: readonly string[]
  readonly error_code?: number
  readonly error_message?: string
}

async function* one(rows: readonly (readonly unknown[])[]) {
  yield rows
}

async function* rowBatches(
  lines: AsyncIterable<string>,
  address: string,
): AsyncGenerator<readonly (readonly unknown[])[]> {
  for await (const line of lines) {
    if (line.trim() === '') continue
    const value = parsedLine(line, address)
    // A list is a batch of rows; anything else is a failure.
    if (Array.isArray(value)) yield value as readonly (readonly unknown[])[]
    else throw statementFailure(value as SqlRecord)
  }
}

function parsedLine(line: string, address: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw connectionLost(address, cause)
  }
}

function statementFailure({ error_message: message, error_code: number }: SqlRecord): CommandError {
  return new CommandError('sql_failed', message ?? `The statement failed (${number ?? 0})`)
}

export async function showAnswer(
  answer: StatementAnswer,
  given: {
    readonly expanded: TableStyle['expanded']
    readonly isTimed: boolean
    readonly startedAt: number
  },
  output: Output,
): Promise<void> {
  const { expanded, isTimed, startedAt } = given
  const took = () => (isTimed ? `  ${shownTime(performance.now() - startedAt)}` : '')
  if (answer.kind === 'ok') {
    const { affectedRows: count } = answer
    const rows = count === null ? '' : ` (${count} ${count === 1 ? 'row' : 'rows'})`
    output.say(`OK${rows}${took()}`)
  } else {
    const table = tableFor(output, answer.columnNames, expanded)
    for await (const rows of answer.batches) await output.write(table.add(rows))
    await output.write(table.end(took()))
  }
  for (const warning of answer.warnings) output.say(`Warning: ${safeLine(warning)}`)
}

function shownTime(ms: number): string {
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** Splits a text into statements at each `;` outside strings, names and comments. */

/** Matches a token that may contain a semicolon; an unclosed one extends to the end of the text. */
const UNSPLIT =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)|;/g

export function splitStatements(text: string): {
  /** The statements without semicolons; empty ones are left out. */
  readonly statements: readonly string[]
  /** The text after the last semicolon; empty if it contains only white space and comments. */
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

function isBlank(text: string): boolean {
  return text.replaceAll(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, '').trim() === ''
}
