/** Runs statements, and returns the rows all at once or as they arrive. */

import type { SQL_ANSWER, SQL_FUNCTION } from '../../api/http/answers/records/server-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { quote } from '../../core/domain/names.ts'
import { ApiError, bodyOf, request, requestStream } from './request.ts'

export type Cell = unknown
export type Params = Readonly<Record<string, unknown>>

export interface Statement {
  readonly sql: string
  /** The project for unqualified names; by default, the first one. */
  readonly project?: string | undefined
  readonly params?: Params
  readonly signal?: AbortSignal | undefined
  /** For `@variables`; each tab has its own. Without one they last for a request. */
  readonly session?: string
  /** Refuses changes and questions to agents, which the user has not requested. */
  readonly isReadOnly?: boolean
}

export interface Rows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** A failed statement. If the position is known, the message starts with `line 1, column 8: `. */
export class SqlError extends ApiError {}

/** Of a short result; empty if it returns none. @throws SqlError, ApiError */
export async function runSql(statement: Statement): Promise<
  Rows & {
    /** Problems that affected the result, such as a reranking model that failed. */
    readonly warnings: readonly string[]
  }
> {
  const { sql, project, params } = statement
  const json = { query: sql, context: { db: project }, params }
  const answer = await request<Wire<typeof SQL_ANSWER>>(
    '/api/sql/query',
    statementRequest(json, statement),
  )
  if (answer.type === 'error') throw sqlError(answer.error_message, answer.error_code)
  const warnings = answer.warnings ?? []
  if (answer.type === 'ok') return { columns: [], rows: [], warnings }
  return { columns: answer.column_names, rows: answer.data, warnings }
}

function statementRequest(json: object, { session, signal }: Statement) {
  const headers = session === undefined ? {} : { 'x-session': session }
  return { method: 'POST', json, headers, signal } as const
}

/** The error number of `sql_not_a_query`. */
const NOT_A_QUERY = 4101
const NOT_BY_ITSELF =
  'A link does not automatically run a statement that changes something or asks an agent. Read it, then press Run'

function sqlError(message: string, number: number): SqlError {
  const isRefused = number === NOT_A_QUERY
  return new SqlError({
    code: isRefused ? 'sql_not_a_query' : 'invalid_request',
    status: 200,
    title: isRefused ? 'The statement did not run automatically' : 'The statement failed',
    message: isRefused ? NOT_BY_ITSELF : message,
  })
}

/** A name as people write it: `a`, or `"a b"` if it needs quotes. */
export function written(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) && !RESERVED.has(name.toLowerCase()) ? name : quote(name)
}

/** Words that DuckDB does not accept as an unquoted column or table name. */
const RESERVED: ReadonlySet<string> = new Set(
  `all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default
  deferrable desc describe distinct do else end except false fetch for foreign from group having in initially intersect
  into lambda lateral leading limit not null offset on only or order pivot pivot_longer pivot_wider placing primary
  qualify references returning select show some summarize symmetric table then to trailing true union unique unpivot
  using variadic when where window with`.split(/\s+/),
)

/** A result column. `type` is the DuckDB name; empty if the server sends none. */
export interface Column {
  readonly name: string
  readonly type: string
}

type Line =
  | {
      readonly type: 'table'
      readonly column_names: readonly string[]
      readonly column_types?: readonly string[]
      readonly warnings?: readonly string[]
    }
  | {
      readonly type: 'ok'
      readonly affected_rows: number | null
      readonly context: { readonly db: string }
      readonly warnings?: readonly string[]
    }
  | { readonly type: 'error'; readonly error_message: string; readonly error_code: number }
  | readonly (readonly Cell[])[]

export interface RowReader {
  readonly columns: (columns: readonly Column[]) => void
  /** Called with a few thousand rows at a time as they arrive, and their size in characters. */
  readonly rows: (rows: readonly (readonly Cell[])[], chars: number) => void
  readonly warned: (warnings: readonly string[]) => void
  /** For no rows: the number of changed ones, if counted, and the project to continue in. */
  readonly changed: (affectedRows: number | null, project: string) => void
}

/** As they arrive. Aborting ends the statement on the server. @throws SqlError; ApiError */
export async function streamSql(statement: Statement, reader: RowReader): Promise<void> {
  const { sql, project, params, isReadOnly } = statement
  const json = {
    query: sql,
    context: { db: project },
    params,
    response_format: 'jsonlines',
    exact: true,
    ...(isReadOnly ? { read_only: true } : {}),
  }
  const response = await requestStream('/api/sql/query', statementRequest(json, statement))
  await bodyOf(response, async () => {
    for await (const text of linesOf(response)) {
      // The server's lines have this form.
      const line = JSON.parse(text) as Line
      if (!('type' in line)) reader.rows(line, text.length)
      else if (line.type === 'error') throw sqlError(line.error_message, line.error_code)
      else told(line, reader)
    }
  })
}

function told(line: Extract<Line, { type: 'table' | 'ok' }>, reader: RowReader): void {
  if (line.warnings !== undefined) reader.warned(line.warnings)
  if (line.type === 'ok') {
    reader.changed(line.affected_rows, line.context.db)
    return
  }
  const { column_names: names, column_types: types = [] } = line
  reader.columns(names.map((name, index) => ({ name, type: types[index] ?? '' })))
}

/** The lines of a body as they arrive. @throws errors while reading */
export async function* linesOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  // A line may come in many pieces, so they are joined only once, at its end.
  let parts: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const [first = '', ...others] = value.split('\n')
      parts.push(first)
      for (const next of others) {
        const line = parts.join('')
        parts = [next]
        if (line !== '') yield line
      }
    }
    const rest = parts.join('')
    if (rest !== '') yield rest
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** A table or other relation, for completion and for the list beside the editor. */
export interface NamedTable {
  readonly schema: string
  readonly name: string
  /** For example `KNOWLEDGE BASE`, `AGENT`, `VIEW` or `BASE TABLE`. */
  readonly kind: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

export type SqlFunction = Wire<typeof SQL_FUNCTION>

/** All tables, knowledge bases, views and files, with their columns. @throws ApiError, SqlError */
export async function readTableNames(signal?: AbortSignal): Promise<readonly NamedTable[]> {
  const sql = `SELECT c.table_schema, c.table_name, c.column_name, c.data_type, t.table_type
FROM information_schema.columns c JOIN information_schema.tables t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema <> 'information_schema'
ORDER BY c.table_schema, c.table_name, c.ordinal_position LIMIT 20000`
  const { rows } = await runSql({ sql, signal })
  const tables = Map.groupBy(rows, ([schema, name]) => `${schema}\u0000${name}`)
  return [...tables.values()].map((columns) => ({
    schema: String(columns[0]?.[0]),
    name: String(columns[0]?.[1]),
    kind: String(columns[0]?.[4]),
    columns: columns.map((row) => ({ name: String(row[2]), type: String(row[3]) })),
  }))
}

/** All functions that statements can call. @throws ApiError */
export function readFunctions(signal?: AbortSignal): Promise<readonly SqlFunction[]> {
  return request('/api/sql/functions', { signal })
}
