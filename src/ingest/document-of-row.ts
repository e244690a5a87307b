import type { Document, DocumentText, Row, RowValue } from '../domain/document.ts'
import { LIMITS } from '../domain/limits.ts'
import { AppError } from '../errors.ts'
import { type ColumnMapping, findColumn } from './column-mapping.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'
import { wellFormedRow } from './well-formed.ts'

/** A document whose row names no id gets one from its content. */
export type RowDocument = Omit<Document, 'id'> & { readonly id: string | null }

/**
 * One row as a document; null where all its content is empty.
 * @throws AppError `insert_failed` naming a content column that is missing and the columns there are, or an id that is
 * no text
 */
export function documentOfRow(
  sent: Row,
  rowIndex: number,
  rule: ColumnMapping,
): RowDocument | null {
  const row = wellFormedRow(sent, LIMITS.cellCharsMax)
  const columns = Object.keys(row)
  const content = rule.contentColumns.map((name) => {
    return { name, column: findColumn(columns, name) ?? missing(name, columns) }
  })
  const texts = content.flatMap(({ name, column }): DocumentText[] => {
    const text = textOf(row[column] ?? null)
    return isBlank(text) ? [] : [{ column: name, text }]
  })
  if (texts.length === 0) return null
  const idColumn = rule.idColumns.map((name) => findColumn(columns, name)).find((name) => name)
  const id = idColumn === undefined ? null : idOf(sent[idColumn] ?? row[idColumn] ?? null)
  const known = new Set(content.map(({ column }) => column))
  if (idColumn !== undefined) known.add(idColumn)
  return { id, rowIndex, texts, metadata: metadataOf(row, rule, known) }
}

/** A longer run of white space is found out when it is cut: looking through it here would take too long. */
const BLANK_CHARS_MAX = 100_000

function isBlank(text: string): boolean {
  return text.length <= BLANK_CHARS_MAX && text.trim() === ''
}

function missing(name: string, columns: readonly string[]): never {
  const there = columns.length === 0 ? 'the row has no columns' : `columns: ${shown(columns)}`
  throw new AppError('insert_failed', `Content column "${name}" not found; ${there}`)
}

const COLUMNS_SHOWN_MAX = 50

function shown(columns: readonly string[]): string {
  const some = columns.slice(0, COLUMNS_SHOWN_MAX).map((column) => column.slice(0, 100))
  return columns.length > some.length ? `${some.join(', ')}, …` : some.join(', ')
}

/** Lists and objects as JSON text. */
function textOf(value: RowValue): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Replacing what is no text in ids would make one of several. */
function idOf(value: RowValue): string | null {
  const id = textOf(value)
  if (id.length > INGEST_LIMITS.idCharsMax) {
    const limit = `An id has at most ${INGEST_LIMITS.idCharsMax} characters`
    throw new AppError('insert_failed', `${limit}, found ${id.length}`)
  }
  if (!id.isWellFormed()) {
    const shown = JSON.stringify(id.slice(0, 100))
    throw new AppError('insert_failed', `The id ${shown} is no text: it holds a lone surrogate`)
  }
  return id.trim() === '' ? null : id
}

/** Every other column, or those that the knowledge base names: null where the row lacks one. */
function metadataOf(row: Row, rule: ColumnMapping, known: ReadonlySet<string>): Row {
  if (rule.metadataColumns === null) {
    return Object.fromEntries(Object.entries(row).filter(([name]) => !known.has(name)))
  }
  const columns = Object.keys(row)
  const entries = rule.metadataColumns.map((name) => {
    const column = findColumn(columns, name)
    return [name, column === undefined ? null : (row[column] ?? null)] as const
  })
  return Object.fromEntries(entries)
}
