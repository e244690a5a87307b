import { AppError } from '../../core/errors.ts'
import type { CsvLayout, SampleRow } from './csv-layout.ts'
import {
  CARRIAGE_RETURN,
  type CsvDialect,
  CsvRows,
  DOUBLE_QUOTE,
  fileSource,
  HASH,
  LINE_FEED,
  TABLE_COLUMNS_MAX,
} from './csv-rows.ts'

/** Where the bytes of a table are: a file of UTF-8 without compression. */
export interface CsvFile {
  readonly path: string
  /** After a byte order mark and a line that names the delimiter. */
  readonly startByte: number
  /** Lines before that. */
  readonly linesBefore: number
}

/** Some rows of one kind: how many, and the lines of the first ones. */
export class RowNotes {
  count = 0
  readonly lines: number[] = []

  add(line: number): void {
    this.count += 1
    if (this.lines.length < LINES_NAMED) this.lines.push(line)
  }

  /** ` (lines 5, 9, …)` */
  where(): string {
    const more = this.count > this.lines.length ? ', …' : ''
    return ` (line${this.count === 1 ? '' : 's'} ${this.lines.join(', ')}${more})`
  }
}

const LINES_NAMED = 10

/** What all rows of a file are like: every byte was looked at. */
export interface CsvSurvey {
  readonly rowCount: number
  /** Of the widest row, or the names. */
  readonly width: number
  readonly short: RowNotes
  readonly long: RowNotes
  readonly comments: RowNotes
  readonly blank: RowNotes
  readonly odd: RowNotes
  /** DuckDB reads the file as it is, by its dialect and the lines to skip. */
  readonly isPlain: boolean
  /** Rows end with `\r\n`. */
  readonly hasReturns: boolean
  readonly rowBytesMax: number
}

const SAMPLE_ROWS = 1000
const SAMPLE_CELLS = 200_000

/** The first rows with their values, without blank lines. */
export function sampleRows(file: CsvFile, dialect: CsvDialect): readonly SampleRow[] {
  const source = fileSource(file.path, file.startByte)
  try {
    const rows = new CsvRows(source, dialect)
    const found: SampleRow[] = []
    let cellCount = 0
    while (found.length < SAMPLE_ROWS && cellCount < SAMPLE_CELLS && rows.next()) {
      if (isBlank(rows)) continue
      checkWidth(rows, file)
      const cells = Array.from({ length: rows.count }, (_, index) => rows.text(index))
      found.push({ line: rows.line + file.linesBefore, cells })
      cellCount += cells.length
    }
    return found
  } finally {
    source.close()
  }
}

function checkWidth(rows: CsvRows, file: CsvFile): void {
  if (rows.count <= TABLE_COLUMNS_MAX) return
  throw new AppError(
    'file_unreadable',
    `The file could not be read: the row that begins in line ${rows.line + file.linesBefore} has ${rows.count} values; a table has at most ${TABLE_COLUMNS_MAX} columns`,
  )
}

export function isBlank(rows: CsvRows): boolean {
  return rows.count === 1 && rows.isEmpty(0)
}

/** A comment among the rows: it would be a ragged row otherwise. */
export function isCommentRow(rows: CsvRows, layout: CsvLayout): boolean {
  if (!layout.hasComments || rows.count === layout.width || rows.isQuoted(0)) return false
  return rows.bytes(0)[0] === HASH
}

/** Goes through all rows. @throws AppError `file_unreadable` */
export function surveyed(file: CsvFile, dialect: CsvDialect, layout: CsvLayout): CsvSurvey {
  const notes = {
    short: new RowNotes(),
    long: new RowNotes(),
    comments: new RowNotes(),
    blank: new RowNotes(),
    odd: new RowNotes(),
  }
  let rowCount = 0
  let width = layout.width
  let isUnusual = false
  let rowBytesMax = 0
  let blanks: number[] = []
  let hasReturns = false
  let hasNone = false
  const source = fileSource(file.path, file.startByte)
  try {
    const rows = new CsvRows(source, dialect)
    while (rows.next()) {
      const line = rows.line + file.linesBefore
      if (rows.hasReturn) hasReturns = true
      else hasNone = true
      if (line < layout.dataLine) {
        isUnusual ||= rows.hasLineBreak
        continue
      }
      if (isBlank(rows)) {
        if (blanks.length <= LINES_NAMED) blanks.push(line)
        continue
      }
      if (isCommentRow(rows, layout)) {
        notes.comments.add(line)
        continue
      }
      for (const blank of blanks) notes.blank.add(blank)
      blanks = []
      checkWidth(rows, file)
      rowCount += 1
      const size = rows.endByte - rows.startByte
      if (size > rowBytesMax) rowBytesMax = size
      if (rows.hasOddQuote) notes.odd.add(line)
      isUnusual ||= rows.isUnusual || rows.rowBytes().includes(CARRIAGE_RETURN)
      if (rows.count === layout.width) continue
      if (rows.count < layout.width) notes.short.add(line)
      else if (filledWidth(rows) > layout.width) {
        notes.long.add(line)
        width = Math.max(width, filledWidth(rows))
      } else isUnusual = true
    }
  } finally {
    source.close()
  }
  const isRegular =
    notes.short.count + notes.long.count + notes.comments.count + notes.blank.count === 0
  const isPlain = isRegular && !isUnusual && !(hasReturns && hasNone) && isPlainDialect(dialect)
  return { rowCount, width, ...notes, isPlain, hasReturns, rowBytesMax }
}

/** DuckDB can be told about it. */
function isPlainDialect(dialect: CsvDialect): boolean {
  const { delimiter, isRun, quote, escapedBy, skipsSpace, lineEnd } = dialect
  const isQuotedPlainly = quote === DOUBLE_QUOTE && escapedBy === DOUBLE_QUOTE
  return delimiter !== null && !isRun && isQuotedPlainly && !skipsSpace && lineEnd === LINE_FEED
}

/** Without empty values at the end. */
export function filledWidth(rows: CsvRows): number {
  let width = rows.count
  while (width > 0 && rows.isEmpty(width - 1)) width -= 1
  return width
}
