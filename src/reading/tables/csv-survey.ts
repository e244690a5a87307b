import { couldNotRead } from '../document-format.ts'
import type { CsvLayout, SampleRow } from './csv-layout.ts'
import {
  CARRIAGE_RETURN,
  COMMA,
  type CsvDialect,
  CsvRows,
  DOUBLE_QUOTE,
  fileSource,
  HASH,
  LINE_FEED,
  TABLE_COLUMNS_MAX,
} from './csv-rows.ts'
import { BlockWriter, type PlainCsv } from './plain-csv.ts'

/** Where a table's bytes are, in an uncompressed UTF-8 file. */
export interface CsvFile {
  readonly path: string
  /** After a byte order mark and a line that names the delimiter. */
  readonly startByte: number
  readonly linesBefore: number
}

/** Counts rows of one kind, and remembers the first lines. */
class RowNotes {
  count = 0
  readonly lines: number[] = []

  add(line: number): void {
    this.count += 1
    if (this.lines.length < LINES_NAMED) this.lines.push(line)
  }

  /** For example ` (lines 5, 9, …)`. */
  where(): string {
    const more = this.count > this.lines.length ? ', …' : ''
    return ` (line${this.count === 1 ? '' : 's'} ${this.lines.join(', ')}${more})`
  }
}

const LINES_NAMED = 10

export interface CsvSurvey {
  readonly rowCount: number
  readonly short: RowNotes
  readonly long: RowNotes
  readonly comments: RowNotes
  readonly blank: RowNotes
  readonly odd: RowNotes
  /** The same rows, at most as wide as the widest or the names. */
  readonly plain: PlainCsv
}

const SAMPLE_ROWS = 1000
const SAMPLE_CELLS = 200_000

/** Returns the first rows with their values, without blank lines. */
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
  throw couldNotRead(
    `the row that begins in line ${rows.line + file.linesBefore} has ${rows.count} values; a table has at most ${TABLE_COLUMNS_MAX} columns`,
  )
}

function isBlank(rows: CsvRows): boolean {
  return rows.count === 1 && rows.isEmpty(0)
}

/** Without this, a comment among the rows would count as a ragged row. */
function isCommentRow(rows: CsvRows, layout: CsvLayout): boolean {
  if (!layout.hasComments || rows.count === layout.width || rows.isQuoted(0)) return false
  return rows.bytes(0)[0] === HASH
}

/** Plain rows are copied unchanged, others unambiguously. @throws AppError `file_unreadable` */
export function surveyed(
  file: CsvFile,
  dialect: CsvDialect,
  layout: CsvLayout,
  path: string,
): CsvSurvey {
  const notes = newNotes()
  const { delimiter, isRun, skipsSpace } = dialect
  const signs = { delimiter: delimiter ?? COMMA, quote: dialect.quote ?? DOUBLE_QUOTE }
  const isCopied = delimiter !== null && !isRun && !skipsSpace && layout.width > 1
  let rowCount = 0
  let { width } = layout
  let rowBytesMax = 0
  const source = fileSource(file.path, file.startByte)
  const target = new BlockWriter(path)
  try {
    const rows = new CsvRows(source, dialect)
    for (const line of tableRows(rows, file, layout, notes)) {
      rowCount += 1
      if (rows.hasOddQuote) notes.odd.add(line)
      const filled = rows.count > layout.width ? filledWidth(rows) : rows.count
      if (rows.count < layout.width) notes.short.add(line)
      if (filled > layout.width) notes.long.add(line)
      width = Math.max(width, filled)
      const start = target.sizeBytes
      const isPlain =
        isCopied &&
        rows.count === layout.width &&
        !rows.isUnusual &&
        !rows.rowBytes().includes(CARRIAGE_RETURN) &&
        (dialect.quote !== null || !rows.rowBytes().includes(signs.quote))
      if (isPlain) target.write(rows.rowBytes())
      else writeRow(target, rows, Math.min(rows.count, Math.max(filled, layout.width)), signs)
      target.writeByte(LINE_FEED)
      rowBytesMax = Math.max(rowBytesMax, target.sizeBytes - start)
    }
  } finally {
    source.close()
    target.close()
  }
  const isPadded = notes.short.count + notes.long.count > 0
  return { rowCount, ...notes, plain: { paths: [path], ...signs, width, rowBytesMax, isPadded } }
}

function newNotes() {
  return {
    short: new RowNotes(),
    long: new RowNotes(),
    comments: new RowNotes(),
    blank: new RowNotes(),
    odd: new RowNotes(),
  }
}

/** Moves through the rows of the table in order. @returns their lines */
function* tableRows(
  rows: CsvRows,
  file: CsvFile,
  layout: CsvLayout,
  notes: ReturnType<typeof newNotes>,
): Generator<number> {
  // Blank lines at the end of the file do not count.
  let blanks: number[] = []
  while (rows.next()) {
    const line = rows.line + file.linesBefore
    if (line < layout.dataLine) continue
    if (isBlank(rows)) {
      if (blanks.length <= LINES_NAMED) blanks.push(line)
    } else if (isCommentRow(rows, layout)) notes.comments.add(line)
    else {
      for (const blank of blanks) notes.blank.add(blank)
      blanks = []
      checkWidth(rows, file)
      yield line
    }
  }
}

function writeRow(
  target: BlockWriter,
  rows: CsvRows,
  count: number,
  { delimiter, quote }: { delimiter: number; quote: number },
): void {
  for (let index = 0; index < count; index += 1) {
    if (index > 0) target.writeByte(delimiter)
    const bytes = rows.hasEscapes(index) ? ENCODER.encode(rows.text(index)) : rows.bytes(index)
    const isPlain = bytes.every((byte) => {
      return byte !== delimiter && byte !== quote && byte !== LINE_FEED && byte !== CARRIAGE_RETURN
    })
    // Without quotes, a row's only value could be an empty line.
    if (count > 1 && isPlain) target.write(bytes)
    else target.writeQuoted(bytes, quote)
  }
}

const ENCODER = new TextEncoder()

/** The width without empty values at the end. */
function filledWidth(rows: CsvRows): number {
  let width = rows.count
  while (width > 0 && rows.isEmpty(width - 1)) width -= 1
  return width
}
