/**
 * Lists the tables of data sources in information_schema, by asking the sources on each request.
 */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type {
  DataSource,
  SourceColumn,
  SourceTable,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import { shownTableName } from '../../core/domain/flow/source-parameters.ts'
import type { DataSources } from '../../core/domain/ports/engine-ports.ts'
import type { SourceKeeping } from '../../core/domain/ports/job-ports.ts'
import { AppError, hasCode, toAppError } from '../../core/errors.ts'
import { abortable, startDeadline } from '../../core/runtime/cancellation.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { sourceRecord } from '../definitions/define-source.ts'
import type { LiveRows, SchemaRow } from './schema-table.ts'

/** MySQL's only value for the catalog columns of the SQL standard. */
export const TABLE_CATALOG = 'def'

/** How long a list of all tables waits for data sources. */
const LISTING_MS = 5_000

/** The most tables to list per data source. */
const LISTED_MAX = 10_000

export interface ListedSources {
  readonly snapshot: CatalogSnapshot
  readonly sources: Pick<DataSources, 'tables' | 'describeTables' | 'columns'>
}

/** Ask this many data sources in parallel, without flooding the network. */
const ASKED_AT_ONCE = 64
const WARNINGS_MAX = 20

/** The rows of all data sources. Sources that do not answer in time are left out with a warning. */
export async function allSourceRows(
  table: 'tables' | 'columns',
  { snapshot, sources }: ListedSources,
  signal: AbortSignal,
): Promise<LiveRows> {
  const read = table === 'tables' ? sourceTableRows : sourceColumnRows
  const deadline = startDeadline({
    timeoutMs: LISTING_MS,
    signals: [signal],
    timeoutError: (ms) => new AppError('source_failed', `no answer within ${ms / 1000} s`),
  })
  const bounds = { concurrencyMax: ASKED_AT_ONCE, signal }
  try {
    const found = await mapConcurrent(snapshot.dataSources, bounds, async (source) => {
      try {
        deadline.signal.throwIfAborted()
        // A read may ignore the signal.
        return await abortable(read(source, sources, deadline.signal), deadline.signal)
      } catch (error) {
        signal.throwIfAborted()
        const why = toAppError(deadline.signal.aborted ? deadline.signal.reason : error).message
        return { rows: [], warnings: [`Database ${source.name} is left out: ${why}`] }
      }
    })
    const rows = found.flatMap((one) => one.rows)
    return { rows, warnings: firstOf(found.flatMap(({ warnings = [] }) => warnings)) }
  } finally {
    deadline.end()
  }
}

function firstOf(warnings: readonly string[]): readonly string[] {
  const rest = warnings.length - WARNINGS_MAX
  if (rest <= 0) return warnings
  return [...warnings.slice(0, WARNINGS_MAX), `${rest} more databases are left out`]
}

/** @throws AppError like `DataSources` */
export async function sourceTableRows(
  source: DataSource,
  sources: ListedSources['sources'],
  signal: AbortSignal,
): Promise<LiveRows> {
  const tables = await sources.tables(source, signal)
  const rows = tables.slice(0, LISTED_MAX).map((table) => ({
    TABLE_CATALOG,
    TABLE_SCHEMA: source.name,
    TABLE_NAME: shownTableName(table),
    TABLE_TYPE: table.kind === 'view' ? 'VIEW' : 'BASE TABLE',
    TABLE_COMMENT: '',
  }))
  return { rows, warnings: cutWarnings(source, tables) }
}

async function sourceColumnRows(
  source: DataSource,
  sources: ListedSources['sources'],
  signal: AbortSignal,
): Promise<LiveRows> {
  const tables = await sources.describeTables(source, signal)
  const rows = tables.slice(0, LISTED_MAX).flatMap((table) => {
    return columnRows(source, table, table.columns)
  })
  return { rows, warnings: cutWarnings(source, tables) }
}

/** @param table may be a schema and a table @throws AppError `table_not_found`, … */
export async function sourceTableColumns(
  source: DataSource,
  table: SourceTableName,
  sources: ListedSources['sources'],
  signal: AbortSignal,
): Promise<readonly SchemaRow[]> {
  try {
    return columnRows(source, table, await sources.columns(source, table, signal))
  } catch (error) {
    const isUnknown = hasCode(error, 'table_not_found')
    const [schema = '', ...rest] = table.name.split('.')
    if (!isUnknown || table.schema !== null || rest.length === 0) throw error
    const split = { schema, name: rest.join('.') }
    return columnRows(source, split, await sources.columns(source, split, signal))
  }
}

function columnRows(
  source: DataSource,
  table: SourceTableName,
  columns: readonly SourceColumn[],
): readonly SchemaRow[] {
  return columns.map(({ name, type, nativeType, isNullable }, index) => ({
    row: index,
    schema: source.name,
    relation: shownTableName(table),
    name,
    position: index + 1,
    type,
    nullable: isNullable ? 'YES' : 'NO',
    comment: nativeType,
  }))
}

function cutWarnings({ name }: DataSource, tables: readonly SourceTable[]): readonly string[] {
  if (tables.length <= LISTED_MAX) return []
  return [`Database ${name} has ${tables.length} tables; the first ${LISTED_MAX} are shown`]
}

/** Fields of sources that have columns of their own. */
const OWN_COLUMNS = new Set(
  'id name kind schedule watch remove_vanished created_at updated_at knowledge_base project job_id next_run_at watching watch_note last_run'.split(
    ' ',
  ),
)

/** The sources that knowledge bases sync from. Secrets are masked. */
export function keptSourceRows(
  { knowledgeBases }: Pick<CatalogSnapshot, 'knowledgeBases'>,
  sources: Pick<SourceKeeping, 'list' | 'stateOf'>,
): LiveRows {
  const rows = knowledgeBases.flatMap((kb) => {
    return sources.list(kb).map((source): SchemaRow => {
      const { lastRun, jobId, nextRunAt, watching } = sources.stateOf(source)
      const fields = Object.entries(sourceRecord(kb, source, sources))
      const parameters = Object.fromEntries(fields.filter(([name]) => !OWN_COLUMNS.has(name)))
      return {
        ID: source.id,
        NAME: source.name,
        PROJECT: kb.projectName,
        KNOWLEDGE_BASE: kb.name,
        KIND: source.kind,
        PARAMETERS: JSON.stringify(parameters),
        SCHEDULE: source.schedule,
        WATCHING: watching,
        NEXT_RUN_AT: nextRunAt,
        LAST_RUN_AT: lastRun?.startedAt ?? null,
        LAST_STATE: lastRun?.state ?? null,
        ADDED: lastRun?.counts.added ?? null,
        CHANGED: lastRun?.counts.changed ?? null,
        UNCHANGED: lastRun?.counts.unchanged ?? null,
        REMOVED: lastRun?.counts.removed ?? null,
        FAILED: lastRun?.counts.failed ?? null,
        ERROR: lastRun?.error ?? null,
        JOB_ID: jobId,
      }
    })
  })
  return { rows }
}
