import { ownMetadata } from '../../core/domain/chunk.ts'
import { CELL_CHARS_MAX, type CellValue, type Row, shownValue } from '../../core/domain/document.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'
import { findColumn, wellFormedRow } from '../../ingest/sources/document-of-row.ts'
import type { Assignment, RowStatement } from '../../sql/dialect/parse-rows.ts'

/** What a column of SET is in the knowledge base. */
export type AssignmentTarget =
  | { readonly kind: 'content'; readonly column: string }
  | { readonly kind: 'metadata'; readonly name: string }
  /** The whole object: the keys it has are set, others stay. */
  | { readonly kind: 'metadata_object' }

type Update = Extract<RowStatement, { kind: 'update' }>

/**
 * What the columns of a SET are, in their order.
 * @throws AppError `sql_not_supported` for what cannot be set, or is set twice; `sql_unknown_name` for another table
 */
export function assignmentTargets(
  { assignments, alias, table }: Update,
  kb: KnowledgeBase,
): readonly AssignmentTarget[] {
  const seen = new Set<string>()
  return assignments.map((assignment) => {
    const target = targetOf(withoutTable(assignment, alias ?? table.name), kb)
    const key = targetKey(target)
    if (seen.has(key)) throw notSettable(assignment.column.join('.'), 'it is set twice')
    seen.add(key)
    return target
  })
}

function targetKey(target: AssignmentTarget): string {
  if (target.kind === 'metadata_object') return target.kind
  return `${target.kind} ${nameKey(target.kind === 'content' ? target.column : target.name)}`
}

/** The column as it stands in the knowledge base: `price`, or `metadata` and a key. */
function withoutTable({ column }: Assignment, table: string): readonly string[] {
  const [first = '', ...rest] = column
  const isOfTable = rest.length > 0 && nameKey(first) === nameKey(table)
  const own = isOfTable ? rest : column
  const [outer = '', inner, ...more] = own
  if (inner === undefined || (nameKey(outer) === 'metadata' && more.length === 0)) return own
  if (nameKey(outer) === 'metadata') {
    throw notSettable(column.join('.'), 'only whole keys of metadata can be set')
  }
  throw new AppError('sql_unknown_name', `Table "${first}" is not the one of this UPDATE: ${table}`)
}

const FIXED_COLUMNS = new Set(['id', 'chunk_id', 'relevance', 'distance'])

function targetOf(column: readonly string[], kb: KnowledgeBase): AssignmentTarget {
  const [name = '', metadataKey] = column
  if (metadataKey !== undefined) {
    return { kind: 'metadata', name: metadataName(metadataKey, kb) }
  }
  const key = nameKey(name)
  if (key === 'metadata') return { kind: 'metadata_object' }
  const contentColumns = kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS
  const content = findColumn(contentColumns, name)
  if (content !== undefined) return { kind: 'content', column: content }
  if (key === 'content' || key === 'chunk_content') {
    const [only, ...others] = contentColumns
    if (only !== undefined && others.length === 0) return { kind: 'content', column: only }
    throw notSettable(name, `the content columns are ${contentColumns.join(', ')}`)
  }
  const isId = kb.idColumn !== null && key === nameKey(kb.idColumn)
  if (FIXED_COLUMNS.has(key) || isId) throw notSettable(name, 'it is not a value of the document')
  return { kind: 'metadata', name: metadataName(name, kb) }
}

/** The name as it was declared, where names were. @throws AppError `sql_not_supported` for another one */
function metadataName(name: string, kb: KnowledgeBase): string {
  if (kb.metadataColumns === null) return name
  const declared = findColumn(kb.metadataColumns, name)
  if (declared !== undefined) return declared
  throw notSettable(name, `the metadata columns are ${kb.metadataColumns.join(', ') || 'none'}`)
}

function notSettable(name: string, why: string): AppError {
  return new AppError('sql_not_supported', `Column ${name} cannot be set: ${why}`)
}

/** The new values of one chunk. */
export interface AssignedValues {
  /** Content column → new text, which is not empty. */
  readonly texts: ReadonlyMap<string, string>
  readonly metadata: Row
}

/**
 * @param values of the targets, in their order
 * @throws AppError `insert_failed` for a content that is empty, a metadata that is not an object, or a value beyond the
 * limits; `sql_not_supported` for an undeclared key of metadata
 */
export function assignedValues(
  targets: readonly AssignmentTarget[],
  values: readonly CellValue[],
  kb: KnowledgeBase,
): AssignedValues {
  const texts = new Map<string, string>()
  const metadata = new Map<string, CellValue>()
  for (const [index, target] of targets.entries()) {
    const value = values[index] ?? null
    if (target.kind === 'content')
      texts.set(target.column, assignedText(shownValue(value), target.column))
    else if (target.kind === 'metadata') metadata.set(target.name, value)
    else {
      for (const [name, part] of Object.entries(metadataObject(shownValue(value)))) {
        metadata.set(metadataName(name, kb), part)
      }
    }
  }
  const row = wellFormedRow(Object.fromEntries(metadata), CELL_CHARS_MAX)
  return { texts, metadata: row }
}

function assignedText(value: ResultValue, column: string): string {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  if (text === null || String(text).trim() === '') {
    throw new AppError('insert_failed', 'The new content is empty; to take rows away use DELETE')
  }
  const row = wellFormedRow({ [column]: String(text) }, CELL_CHARS_MAX)
  return String(row[column])
}

function metadataObject(value: ResultValue): Row {
  const object = typeof value === 'string' ? parsedJson(value) : value
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) {
    // What JSON holds is a row's values.
    return ownMetadata(object as Row)
  }
  throw new AppError('insert_failed', 'metadata is set to a JSON object')
}
