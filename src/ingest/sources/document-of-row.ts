import { createHash } from 'node:crypto'
import {
  CELL_CHARS_MAX,
  type CellValue,
  type Document,
  type DocumentText,
  type Row,
  type RowValue,
  shownValue,
  type TextLayout,
  type TextParts,
  type TextSyntax,
  TypedValue,
} from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { isObject, textOfValue } from '../../core/json.ts'
import type { TimeSlice } from '../../core/runtime/serial-queue.ts'
import { isList } from '../chunking/chunk-json.ts'

/**
 * Converts a row to a document, without texts if its content is empty. The id is null if the row
 * has none; see `contentId`.
 * @throws AppError `insert_failed` naming a missing content column and the existing columns, or for
 * an id that is not text
 */
export function documentOfRow(
  sent: Row,
  rowIndex: number,
  mapping: ColumnMapping,
): Omit<Document, 'id'> & { readonly id: string | null } {
  const row = wellFormedRow(sent)
  const columns = Object.keys(row)
  const content = contentIn(columns, mapping)
  const layout = layoutOf(row, mapping)
  const laidOut = mainColumn(mapping)
  const texts = content.flatMap(({ name, column }): DocumentText[] => {
    const sent = textOf(row[column] ?? null)
    const known = layout !== null && name === laidOut
    // The starts of parts refer to the text as it was sent.
    const text = known && layout.parts !== null ? sent : withoutDataUrls(sent)
    if (isBlank(text)) return []
    return [known ? { column: name, text, layout } : { column: name, text }]
  })
  const idColumn = mapping.idColumns.map((name) => findColumn(columns, name)).find((name) => name)
  const id = idColumn === undefined ? null : documentId(sent[idColumn] ?? row[idColumn] ?? null)
  const known = new Set(content.map(({ column }) => column))
  if (idColumn !== undefined) known.add(idColumn)
  if (layout !== null) known.add(LAYOUT_COLUMN)
  return { id, rowIndex, texts, metadata: metadataOf(row, mapping, known) }
}

/** @throws AppError `insert_failed` naming a missing column and the existing ones */
export function contentIn(columns: readonly string[], { contentColumns }: ColumnMapping) {
  return contentColumns.map((name) => {
    return { name, column: findColumn(columns, name) ?? missing('Content', name, columns) }
  })
}

/** Otherwise each row would become a new document. @throws AppError `insert_failed` as above */
export function requireIdColumn(columns: readonly string[], mapping: ColumnMapping): void {
  const { idColumn, idColumns } = mapping
  if (idColumn === null || idColumns.some((name) => findColumn(columns, name))) return
  missing('Id', idColumn, columns)
}

/** Replaces `![Logo](data:image/png;base64,…)` by `Logo`: embedded files are not text. */
function withoutDataUrls(text: string): string {
  if (!text.includes(';base64,')) return text
  return text.replace(PICTURE_IN_TEXT, '$1').replace(DATA_URL, '')
}

/** Shorter ones are probably examples in a text about data URLs. */
const DATA_URL =
  /data:[\w.+-]{1,60}\/[\w.+-]{1,100}(?:;[\w=.+-]{1,60})*;base64,[A-Za-z0-9+/=_-]{100,}/g
const PICTURE_IN_TEXT = new RegExp(`!\\[([^\\]]{0,500})\\]\\(${DATA_URL.source}[^)]{0,200}\\)`, 'g')

/** Returns the layout of a document's text if the row has one. The column is then not metadata. */
function layoutOf(row: Row, { contentColumns }: ColumnMapping): TextLayout | null {
  if (findColumn(contentColumns, LAYOUT_COLUMN) !== undefined) return null
  return layoutIn(row)
}

const HASHED_AT_ONCE_CHARS = 1_000_000
const ID_HEX_DIGITS = 16

/** The first 16 hex digits of the MD5 of the columns, separated by line feeds. */
export async function contentId(
  texts: readonly DocumentText[],
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('md5')
  for (const [index, { text }] of texts.entries()) {
    if (index > 0) hash.update('\n')
    for (let start = 0; start < text.length; ) {
      const end = wholeCharsEnd(text, start + HASHED_AT_ONCE_CHARS)
      hash.update(text.slice(start, end))
      start = end
      await slice.yieldIfSpent(signal)
    }
  }
  return hash.digest('hex').slice(0, ID_HEX_DIGITS)
}

/** Avoids cutting a surrogate pair, half of which would be hashed as U+FFFD. */
function wholeCharsEnd(text: string, end: number): number {
  const isHalf = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return isHalf ? end + 1 : Math.min(end, text.length)
}

/** Longer white space is detected when chunking, because searching for it here takes too long. */
const BLANK_CHARS_MAX = 100_000

function isBlank(text: string): boolean {
  return text.length <= BLANK_CHARS_MAX && text.trim() === ''
}

function missing(role: 'Content' | 'Id', name: string, columns: readonly string[]): never {
  const there = columns.length === 0 ? 'the row has no columns' : `columns: ${shown(columns)}`
  throw new AppError('insert_failed', `${role} column "${name}" not found; ${there}`)
}

const COLUMNS_SHOWN_MAX = 50

function shown(columns: readonly string[]): string {
  const some = columns.slice(0, COLUMNS_SHOWN_MAX).map((column) => column.slice(0, 100))
  return columns.length > some.length ? `${some.join(', ')}, …` : some.join(', ')
}

export function textOf(cell: CellValue): string {
  return textOfValue(shownValue(cell))
}

/** Converts `{tea: 'green', price: 9}` to `tea: green, price: 9`. */
export function rowText(row: Row): string {
  const filled = Object.entries(row).filter(([, value]) => textOf(value) !== '')
  return filled.map(([name, value]) => `${name}: ${textOf(value)}`).join(', ')
}

/** Refuses lone surrogates: replacing them would make different ids equal. */
function documentId(value: CellValue): string | null {
  const id = textOf(value)
  if (id.length > INGEST_LIMITS.idCharsMax) {
    const limit = `An id has at most ${INGEST_LIMITS.idCharsMax} characters`
    throw new AppError('insert_failed', `${limit}, found ${id.length}`)
  }
  if (!id.isWellFormed()) {
    const shown = JSON.stringify(id.slice(0, 100))
    throw new AppError('insert_failed', `The id ${shown} is not text: it holds a lone surrogate`)
  }
  return id.trim() === '' ? null : id
}

/** All other columns, or those that the base names. A missing column is null. */
function metadataOf(row: Row, mapping: ColumnMapping, known: ReadonlySet<string>): Row {
  if (mapping.metadataColumns === null) {
    return Object.fromEntries(Object.entries(row).filter(([name]) => !known.has(name)))
  }
  const columns = Object.keys(row)
  const entries = mapping.metadataColumns.map((name) => {
    const column = findColumn(columns, name)
    return [name, column === undefined ? null : (row[column] ?? null)] as const
  })
  return Object.fromEntries(entries)
}

/** The roles of columns (docs/contract.md 5.1). Names are compared ignoring case. */
export interface ColumnMapping {
  readonly contentColumns: readonly string[]
  /** Null: every column that is neither the id nor content. */
  readonly metadataColumns: readonly string[] | null
  /** The one that the knowledge base names, or null. */
  readonly idColumn: string | null
  /** Possible id columns, in order of preference. */
  readonly idColumns: readonly string[]
}

export const ID_COLUMN = 'id'

export type MappedColumns = Pick<KnowledgeBase, 'contentColumns' | 'metadataColumns' | 'idColumn'>

export function columnMappingOf(kb: MappedColumns): ColumnMapping {
  const hasOwnId = kb.idColumn !== null && kb.idColumn.toLowerCase() !== ID_COLUMN
  return {
    contentColumns: kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS,
    metadataColumns: kb.metadataColumns,
    idColumn: kb.idColumn,
    idColumns: hasOwnId && kb.idColumn !== null ? [kb.idColumn, ID_COLUMN] : [ID_COLUMN],
  }
}

/** As spelled in `columns`: an exact match, or else one that differs only in case. */
export function findColumn(columns: readonly string[], name: string): string | undefined {
  if (columns.includes(name)) return name
  const key = name.toLowerCase()
  return columns.find((column) => column.toLowerCase() === key)
}

/** Lone surrogates become U+FFFD. @throws AppError `insert_failed` if too deep or long */
export function wellFormedRow(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]) => {
    if (typeof value === 'string' && value.length > CELL_CHARS_MAX) {
      const found = `found ${value.length}`
      const limit = `A cell has at most ${CELL_CHARS_MAX} characters`
      throw new AppError('insert_failed', `${limit}, ${found} in column "${name}"`)
    }
    // DuckDB's values are always well-formed.
    const cell = value instanceof TypedValue ? checkedCell(value) : wellFormed(value, 0)
    return [name.toWellFormed(), cell] as const
  })
  return Object.fromEntries(entries)
}

function checkedCell(value: TypedValue): TypedValue {
  wellFormed(value.shown, 0)
  return value
}

function wellFormed(value: RowValue, depth: number): RowValue {
  if (typeof value === 'string') return value.toWellFormed()
  if (value === null || typeof value !== 'object') return value
  if (depth > INGEST_LIMITS.nestingMax) {
    throw new AppError(
      'insert_failed',
      `A value is nested deeper than ${INGEST_LIMITS.nestingMax} levels`,
    )
  }
  if (isList(value)) return value.map((item) => wellFormed(item, depth + 1))
  const entries = Object.entries(value).map(([key, item]) => {
    return [key.toWellFormed(), wellFormed(item, depth + 1)] as const
  })
  return Object.fromEntries(entries)
}

const TEXT_COLUMN = 'content'

/**
 * Converts a document without columns, such as a page, to a row. Its text goes into the column
 * `content`, or into the knowledge base's first content column if there is no such column. Other
 * content columns are empty.
 * @param columns further metadata of the document
 */
export function documentRow(
  given: { readonly id: string; readonly content: string; readonly columns: Row },
  mapping: ColumnMapping,
): Row {
  const { id, content, columns } = given
  const { contentColumns } = mapping
  const column = mainColumn(mapping)
  const [idColumn = ID_COLUMN] = mapping.idColumns
  const taken = [idColumn, ...contentColumns]
  const others = Object.entries(columns).filter(([name]) => findColumn(taken, name) === undefined)
  const known = contentColumns.map((name) => {
    const own = findColumn(Object.keys(columns), name)
    return [name, own === undefined ? null : (columns[own] ?? null)] as const
  })
  return Object.fromEntries([[idColumn, id], ...known, [column, content], ...others])
}

/** The content column that holds the text of a document. */
function mainColumn({ contentColumns }: ColumnMapping): string {
  return findColumn(contentColumns, TEXT_COLUMN) ?? contentColumns[0] ?? TEXT_COLUMN
}

/** The column of a document's row with the layout of its text as JSON, which chunking follows. */

export const LAYOUT_COLUMN = 'layout'

const SYNTAXES: readonly TextSyntax[] = ['text', 'markdown', 'code']
const DURATION_UNITS: readonly TextParts['unit'][] = ['page', 'slide', 'chapter', 'cell']

/** For example `{"syntax": "markdown", "parts": {"unit": "page", "starts": [0, 812]}}`. */
export function layoutValue({ syntax, parts }: Omit<TextLayout, 'title'>): RowValue {
  return { syntax, parts: parts === null ? null : { unit: parts.unit, starts: [...parts.starts] } }
}

/** Null if the row has no such column, or if the column means something else. */
function layoutIn(row: Row): TextLayout | null {
  const value = shownValue(row[LAYOUT_COLUMN] ?? null)
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'syntax' && key !== 'parts')) {
    return null
  }
  const syntax = SYNTAXES.find((one) => one === value.syntax)
  const parts = partsIn(value.parts ?? null)
  if (syntax === undefined || parts === undefined) return null
  const { title } = row
  return { title: typeof title === 'string' && title !== '' ? title : null, syntax, parts }
}

/** Undefined if it is not in Eider's own format. */
function partsIn(value: RowValue): TextParts | null | undefined {
  if (value === null) return null
  if (!isObject(value)) return undefined
  const unit = DURATION_UNITS.find((one) => one === value.unit)
  const { starts } = value
  if (unit === undefined || !isList(starts)) return undefined
  const offsets = starts.filter((start): start is number => Number.isSafeInteger(start))
  const isRising = offsets.every((start, index) => start >= (offsets[index - 1] ?? 0))
  return isRising && offsets.length === starts.length ? { unit, starts: offsets } : undefined
}
