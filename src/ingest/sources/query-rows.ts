import type { Rights } from '../../core/domain/access/rights.ts'
import { type CellValue, type Row, shownValue } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { InsertDeps } from './insert-request.ts'

/** Failures that do not say that the text is no valid SELECT. */
const KEPT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'timeout',
  'cancelled',
  'too_busy',
  'shutting_down',
  'out_of_memory',
  'storage_full',
  'data_damaged',
  'statement_too_large',
  'forbidden',
  'internal',
])

/** The rows of one SELECT. @throws AppError `invalid_select` */
export async function* rowsOfQuery(
  {
    kb,
    query,
    rights = null,
  }: {
    readonly kb: KnowledgeBase
    readonly query: string
    readonly rights?: Rights | null | undefined
  },
  deps: Pick<InsertDeps, 'select'>,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  try {
    const stream = await deps.select(query, { projectName: kb.projectName, rights }, signal)
    yield* readAhead(rowsOfStream(stream), INGEST_LIMITS.queryReadAheadChars)
  } catch (error) {
    if (!(error instanceof AppError) || error === signal.reason) throw error
    const code = KEPT_CODES.has(error.code) ? error.code : 'invalid_select'
    const what = 'Needs to be a valid SELECT statement that returns data'
    const message = `Executing "query" failed. ${what}: ${error.message}`
    throw new AppError(code, message, { cause: error })
  }
}

async function* rowsOfStream({ columns, ...rows }: RowStream): AsyncGenerator<Row> {
  for await (const batch of rows.typedBatches ?? rows.batches) {
    for (const values of batch) yield rowOf(columns, values)
  }
}

/** Of columns with one name the first, as in a join of two tables with an `id`. */
function rowOf(columns: RowStream['columns'], values: readonly CellValue[]): Row {
  const byName = new Map<string, CellValue>()
  for (const [index, { name }] of columns.entries()) {
    if (!byName.has(name)) byName.set(name, values[index] ?? null)
  }
  return Object.fromEntries(byName)
}

/** Reads on before the first row is used: most queries leave their connection before an embedding model begins. */
async function* readAhead(rows: AsyncGenerator<Row>, charsMax: number): AsyncGenerator<Row> {
  const known: Row[] = []
  let chars = 0
  let hasEnded = false
  try {
    while (!hasEnded) {
      const { value, done } = await rows.next()
      hasEnded = done === true
      if (value !== undefined) known.push(value)
      chars += charsOf(value ?? {})
      if (hasEnded || chars > charsMax) {
        yield* known.splice(0)
        if (!hasEnded) yield* rows
        return
      }
    }
  } finally {
    await rows.return(undefined)
  }
}

/** About what a row takes: names are shared, every value has a place. */
function charsOf(row: Row): number {
  const chars = Object.values(row).map((cell) => {
    const value = shownValue(cell)
    return typeof value === 'string' ? value.length : 0
  })
  return chars.reduce((sum, length) => sum + length + VALUE_CHARS, 0)
}

const VALUE_CHARS = 16
