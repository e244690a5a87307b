import type { Principal } from '../../core/domain/access/principal.ts'
import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { textOfValue } from '../../core/json.ts'
import { csvRow } from '../../core/text/csv.ts'
import { answers, READS, type Tool, takes } from './tool.ts'
import { defaultProject } from './visible-data.ts'

const ROWS_UNSET = 100
const RESULT_ROWS_MAX = 1_000
const RESULT_BYTES_MAX = 64 * 1024
const RESULT_CELL_CHARS_MAX = 4_000
const SQL_CHARS_MAX = 200_000

/** A first look; when it runs, the server checks that it really only reads. */
const READING_STATEMENT =
  /^[\s(]*(select|with|from|values|table|pivot|unpivot|show|describe|desc|summarize|explain)\b/i
const COMMENTS = /^(\s*(--[^\n]*\n|\/\*[\s\S]*?\*\/))+/

export const QUERY_TOOL: Tool = {
  name: 'query',
  title: 'Query by SQL',
  description:
    "Runs one SELECT in DuckDB's dialect over tables, files, views, data sources and knowledge bases, and returns its rows. " +
    'Names: project.table, files.name, database.table. A knowledge base is a table with the columns id, chunk_id, chunk_content, metadata, ' +
    "relevance, distance and its metadata columns; WHERE content = 'text' searches it and ranks the rows. SHOW, DESCRIBE and EXPLAIN work too. " +
    `Returns at most ${RESULT_ROWS_MAX} rows and ${RESULT_BYTES_MAX / 1024} KiB: aggregate, filter, or page with LIMIT and OFFSET. ` +
    'Call list_data first to learn names and columns.',
  needs: 'read',
  annotations: READS,
  inputSchema: takes(['sql'], {
    sql: {
      type: 'string',
      minLength: 1,
      maxLength: SQL_CHARS_MAX,
      description: 'One SELECT; values as :name, given in "params"',
    },
    params: { type: 'object', description: 'Values for :name in the statement' },
    database: {
      type: 'string',
      description: 'The project for unqualified names; if not given, the default project',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: RESULT_ROWS_MAX,
      description: `Maximum number of rows; default ${ROWS_UNSET}`,
    },
  }),
  outputSchema: answers(['columns', 'rows', 'row_count', 'has_more'], {
    columns: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, type: { type: 'string' } },
        required: ['name', 'type'],
      },
    },
    rows: { type: 'array', items: { type: 'array' }, description: 'Values in column order' },
    row_count: { type: 'integer', description: 'Rows in this answer' },
    has_more: { type: 'boolean', description: 'Whether the statement gives more rows' },
    note: { type: 'string', description: 'How to see the rest' },
    warnings: { type: 'array', items: { type: 'string' } },
  }),
  async run(sent, { uses, principal, signal }) {
    const sql = sent.text('sql')
    if (!READING_STATEMENT.test(sql.replace(COMMENTS, ''))) {
      const message = 'This tool only reads: send one SELECT (or SHOW, DESCRIBE, EXPLAIN)'
      throw new AppError('sql_not_supported', message)
    }
    const db = sent.optionalText('database') ?? defaultProject(principal)
    const order = { sql, db, params: sent.object('params') ?? {} }
    const result = await uses.query(order, readingOnly(principal), signal)
    if (result.kind !== 'table') {
      throw new AppError('sql_not_supported', 'The statement returns no rows')
    }
    const limit = sent.number('limit') ?? ROWS_UNSET
    const shown = await limitedRows(result.rows, limit, signal)
    const { warnings = [] } = result.rows
    const { columns, rows, cut } = shown
    const note = cut === null ? {} : { note: cutNote(cut, rows.length, limit) }
    const structured = {
      columns,
      rows,
      row_count: rows.length,
      has_more: cut !== null,
      ...note,
      ...(warnings.length === 0 ? {} : { warnings }),
    }
    return { structured, text: rowsText(structured) }
  },
}

/** The client's principal, limited to reading and to asking agents in a SELECT. */
function readingOnly(principal: Principal): Principal {
  const isAll = principal.scopes.has('admin')
  const scopes = (['read', 'ask'] as const).filter((one) => isAll || principal.scopes.has(one))
  return { ...principal, scopes: new Set(scopes) }
}

type Cut = 'rows' | 'bytes'

interface FirstRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly ResultValue[])[]
  readonly cut: Cut | null
}

/** Reads only the rows to show, then ends the statement, which frees the connection. */
async function limitedRows(
  stream: RowStream,
  limit: number,
  signal: AbortSignal,
): Promise<FirstRows> {
  const columns = stream.columns.map(({ name, type }) => ({ name, type }))
  const rows: (readonly ResultValue[])[] = []
  let leftBytes = RESULT_BYTES_MAX
  let cut: Cut | null = null
  reading: for await (const batch of stream.batches) {
    signal.throwIfAborted()
    for (const row of batch) {
      if (rows.length >= limit) {
        cut = 'rows'
        break reading
      }
      const shown = row.map(shortValue)
      leftBytes -= Buffer.byteLength(JSON.stringify(shown))
      if (leftBytes < 0 && rows.length > 0) {
        cut = 'bytes'
        break reading
      }
      rows.push(shown)
    }
  }
  signal.throwIfAborted()
  return { columns, rows, cut }
}

/** Shortens strings, lists and objects, so that one cell does not crowd out the others. */
function shortValue(value: ResultValue): ResultValue {
  const isNested = typeof value === 'object' && value !== null
  const text = isNested ? JSON.stringify(value) : value
  if (typeof text !== 'string' || text.length <= RESULT_CELL_CHARS_MAX) return value
  const left = text.length - RESULT_CELL_CHARS_MAX
  return `${text.slice(0, RESULT_CELL_CHARS_MAX).toWellFormed()}… (${left} more characters)`
}

function cutNote(cut: Cut, count: number, limit: number): string {
  const why = cut === 'rows' ? `limit ${limit}` : `${RESULT_BYTES_MAX} bytes`
  return `The first ${count} rows, cut at ${why}: there are more. Aggregate, filter, select fewer columns, or continue with OFFSET ${count} and an ORDER BY`
}

function rowsText(given: {
  readonly columns: FirstRows['columns']
  readonly rows: FirstRows['rows']
  readonly note?: string
  readonly warnings?: readonly string[]
}): string {
  const { columns, rows, ...said } = given
  const head = csvRow(columns.map(({ name }) => name))
  const body = rows.map((row) => csvRow(row.map(resultCell))).join('')
  const notes = [...(said.note === undefined ? [] : [said.note]), ...(said.warnings ?? [])]
  return `${head}${body}${notes.map((note) => `\n${note}.`).join('')}`
}

function resultCell(value: ResultValue): string | null {
  return value === null ? null : textOfValue(value)
}
