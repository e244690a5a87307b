import { createHash } from 'node:crypto'
import { type CellValue, type Row, shownValue } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal, quote } from '../../core/domain/names.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import { EMPTY } from '../pipeline/store-rows.ts'
import {
  contentId,
  contentIn,
  documentOfRow,
  findColumn,
  requireIdColumn,
  textOf,
} from '../sources/document-of-row.ts'
import { rowsOfQuery } from '../sources/file-rows.ts'
import type { InsertDeps } from '../sources/insert-request.ts'
import type { SyncReach, SyncTask } from './sync-sink.ts'

/**
 * The item that stores the highest value of an incremental column. No row id can start like this.
 */
export const CURSOR_ITEM = '\u0001cursor'

/** Unchanged rows are not chunked again. With a column that only grows, reads from its maximum. */
export async function readQuery(
  task: SyncTask,
  kb: KnowledgeBase,
  deps: Pick<InsertDeps, 'select'>,
  signal: AbortSignal,
): Promise<SyncReach> {
  const { parameters } = task.source
  const query = queryOf(task)
  const read = task.source.kind === 'table' ? { kb, table: String(parameters.table) } : { kb }
  const column = typeof parameters.track_column === 'string' ? parameters.track_column : null
  if (column === null) {
    const found = await readRows(task, { ...read, query }, deps, signal)
    return { found, mayHaveVanished: () => true }
  }
  const next = await greatest(column, { ...read, query }, deps, signal)
  const last = task.known.get(CURSOR_ITEM)?.stamp ?? null
  const tracked = `SELECT * FROM (${query}) AS tracked`
  const newer = `${tracked} WHERE ${quote(column)} >= ${literal(last ?? '')}`
  await readRows(task, { ...read, query: last === null ? tracked : newer }, deps, signal)
  return { found: 1, mayHaveVanished: () => false, cursor: next }
}

type QueryRead = Parameters<typeof rowsOfQuery>[0]

function queryOf({ source }: SyncTask): string {
  const { kind, parameters } = source
  if (kind === 'query') return String(parameters.query).replace(/(?<![;\s])[;\s]+$/, '')
  const parts = String(parameters.table).match(/"(?:[^"]|"")*"|`[^`]*`|[^.\s]+/g) ?? []
  const names = parts.map((part) => {
    if (part.startsWith('`')) return quote(part.slice(1, -1))
    return part.startsWith('"') ? part : quote(part)
  })
  return `SELECT * FROM ${names.join('.')}`
}

async function greatest(
  column: string,
  { query, ...read }: QueryRead,
  deps: Pick<InsertDeps, 'select'>,
  signal: AbortSignal,
): Promise<CellValue> {
  const sql = `SELECT CAST(max(${quote(column)}) AS VARCHAR) AS greatest FROM (${query}) AS tracked`
  let found: CellValue = null
  for await (const row of rowsOfQuery({ ...read, query: sql }, deps, signal))
    found = row.greatest ?? null
  return found
}

async function readRows(
  { known, mapping, sink }: SyncTask,
  read: QueryRead,
  deps: Pick<InsertDeps, 'select'>,
  signal: AbortSignal,
): Promise<number> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const met = new Set<string>()
  let rowCount = 0
  for await (const row of rowsOfQuery(read, deps, signal)) {
    rowCount += 1
    // A missing column is a failure of the query, not of each row.
    if (rowCount === 1) {
      contentIn(Object.keys(row), mapping)
      requireIdColumn(Object.keys(row), mapping)
    }
    if (slice.isSpent) await slice.yieldIfSpent(signal)
    const item = await itemOf(row)
    if (item === null) continue
    if (met.has(item)) {
      sink.leaveOut(item, 'Another row has this id; the first of them counts')
      continue
    }
    met.add(item)
    const hash = hashOf(row)
    const before = known.get(item)
    if (before !== undefined && before.hash === hash) sink.unchanged(before)
    else await sink.content({ item, hash, stamp: null, rows: [row] })
  }
  return met.size

  /** Null if the row has no content. */
  async function itemOf(row: Row): Promise<string | null> {
    const columns = Object.keys(row)
    const idColumn = mapping.idColumns.map((name) => findColumn(columns, name)).find(Boolean)
    const id = idColumn === undefined ? '' : textOf(row[idColumn] ?? null)
    if (id.trim() !== '') return id.length > INGEST_LIMITS.idCharsMax ? refusedId(id) : id
    const { texts } = documentOfRow(row, 0, mapping)
    if (texts.length > 0) return contentId(texts, slice, signal)
    sink.leaveOut(`row ${rowCount}`, EMPTY)
    return null
  }

  function refusedId(id: string): null {
    const limit = `An id has at most ${INGEST_LIMITS.idCharsMax} characters, found ${id.length}`
    sink.failed({ item: id.slice(0, 200), message: limit })
    return null
  }
}

export function hashOf(row: Row): string {
  const values = Object.entries(row).map(([name, value]) => [name, shownValue(value)])
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url')
}
