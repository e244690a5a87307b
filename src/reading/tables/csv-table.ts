import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { distinctNames, quote } from '../../core/domain/names.ts'
import type { ReadingOptions, ReadTable } from '../../core/domain/ports/reading-ports.ts'
import { counted } from '../../core/short-text.ts'
import { couldNotRead, type ReadingNotes, unreadable } from '../document-format.ts'
import { columnPlans, shown } from './column-types.ts'
import { type CsvLayout, layoutOf, type SampleRow } from './csv-layout.ts'
import {
  CARRIAGE_RETURN,
  COMMA,
  type CsvDialect,
  CsvRows,
  DOUBLE_QUOTE,
  fileSource,
  HASH,
  LINE_FEED,
  OpenQuote,
  TABLE_COLUMNS_MAX,
} from './csv-rows.ts'
import { sniffedDialect } from './csv-sniff.ts'
import { BlockWriter, type PlainCsv, plainRowsSql } from './plain-csv.ts'
import { writtenTable } from './written-table.ts'

const SNIFFED_BYTES = 512 * 1024

/** Examines every byte, so that no row is lost silently. @throws AppError `file_unreadable` */
export async function readCsv(
  connection: DuckDBConnection,
  given: { readonly path: string; readonly name: string; readonly options: ReadingOptions },
  folder: string,
  notes: ReadingNotes,
): Promise<ReadTable> {
  const { path, name, options } = given
  const { file, sample, isWhole, delimiter } = await beginOf(path, options)
  const isTabSeparated = /\.(tsv|tab)(\.|$)/i.test(name)
  const dialect = sniffedDialect(sample, isWhole, {
    isTabSeparated,
    ...(delimiter !== null && { delimiter }),
  })
  const found = tableIn({ file, dialect, options, path: join(folder, 'rows.csv') }, notes)
  const { layout, survey, rows } = found
  const sign = found.dialect.isRun ? 'spaces' : String.fromCharCode(found.dialect.delimiter ?? 0)
  notes.recognize({
    ...(found.dialect.delimiter !== null && { delimiter: sign }),
    header: layout.names !== null,
  })
  describe(layout, survey, notes)
  const names = distinctNames(
    Array.from({ length: survey.plain.width }, (_, index) => layout.names?.[index] ?? ''),
  )
  const source = plainRowsSql(survey.plain)
  const { dataLine, hasComments, width } = layout
  const body = rows.filter(({ line, cells }) => {
    const isComment = hasComments && cells.length !== width && cells[0]?.startsWith('#')
    return line >= dataLine && !isComment
  })
  const plans =
    options.allText === true
      ? names.map((column, index) => ({ name: column, expression: `c${index}` }))
      : await columnPlans(connection, source, { names, sample: body }, notes.warn)
  const selected = plans.map((plan) => `${plan.expression} AS ${quote(plan.name)}`)
  const query = `(SELECT ${selected.join(', ')} FROM ${source})`
  const table = await writtenTable(connection, query, join(folder, 'table-0.parquet'))
  if (table.rowCount === survey.rowCount) return table
  throw couldNotRead(`${counted(table.rowCount, 'row')} came out of ${survey.rowCount}`)
}

interface FoundTable {
  readonly dialect: CsvDialect
  readonly layout: CsvLayout
  readonly survey: CsvSurvey
  readonly rows: readonly SampleRow[]
}

function tableIn(
  given: {
    readonly file: CsvFile
    readonly dialect: CsvDialect
    readonly options: ReadingOptions
    readonly path: string
  },
  notes: ReadingNotes,
): FoundTable {
  const { file, dialect, options, path } = given
  const withDialect = (one: CsvDialect): FoundTable => {
    const rows = sampleRows(file, one)
    const layout = layoutOf(rows, options.header)
    return { dialect: one, layout, survey: surveyed(file, one, layout, path), rows }
  }
  try {
    return withDialect(dialect)
  } catch (error) {
    if (!(error instanceof OpenQuote)) throw error
    // Quotes may be ordinary characters (inches, speech), but only if every row is then complete.
    const found = withDialect({ ...dialect, quote: null, escapedBy: null })
    const { short, long } = found.survey.notes
    if (short.count + long.count > 0) throw error
    notes.warn(`A quote in ${error.place} is never closed: quotes were read as ordinary characters`)
    return found
  }
}

/** Returns the first bytes, without lines that are not rows. */
async function beginOf(
  path: string,
  options: ReadingOptions,
): Promise<{ file: CsvFile; sample: Uint8Array; isWhole: boolean; delimiter: number | null }> {
  const source = Bun.file(path)
  const isWhole = source.size <= SNIFFED_BYTES
  const bytes = await source.slice(0, SNIFFED_BYTES).bytes()
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 16))
  // Excel writes this line, and only Excel reads it.
  const named = /^"?sep=([\t !-~])"?(\r\n|\n|\r)/.exec(begin)
  const startByte = named?.[0].length ?? 0
  const delimiter = delimiterOf(options.delimiter) ?? named?.[1]?.charCodeAt(0) ?? null
  return {
    file: { path, startByte, linesBefore: named === null ? 0 : 1 },
    sample: bytes.subarray(startByte),
    isWhole,
    delimiter,
  }
}

function delimiterOf(option: string | undefined): number | null {
  if (option === undefined) return null
  const code = option.charCodeAt(0)
  if (option.length === 1 && code > 0 && code < 0x7f && !/[\r\n"]/.test(option)) return code
  throw unreadable(
    `The delimiter ${shown(option)} is not one sign of ASCII, such as "," or ";" or "tab"`,
  )
}

const TITLE_CHARS = 80

function describe(layout: CsvLayout, survey: CsvSurvey, { warn }: ReadingNotes): void {
  const tell = (count: number, one: string, several: string, rest = '') => {
    if (count > 0) warn(`${counted(count, one, several)}${rest}`)
  }
  const { skipped, commentLines } = layout
  const { comments, blank, short, long, odd } = survey.notes
  const lines = skipped.map(({ line }) => line).join(', ')
  const titles = skipped.map(({ cells }) => cells.filter((cell) => cell !== '').join(' '))
  tell(
    skipped.length,
    'line above the table is not a row',
    'lines above the table are not rows',
    ` (${lines}): ${shown(titles.join(' / ').slice(0, TITLE_CHARS))}`,
  )
  tell(
    commentLines.length + comments.count,
    'line that begins with # is a comment, not a row',
    'lines that begin with # are comments, not rows',
  )
  tell(blank.count, 'empty line is not a row', 'empty lines are not rows', blank.where())
  const than = layout.names === null ? 'most others' : 'the header'
  const missing = `the missing ones are NULL${short.where()}`
  tell(short.count, 'row has', 'rows have', ` fewer values than ${than}; ${missing}`)
  const columns = counted(survey.plain.width - layout.width, 'further column')
  const further = `they are in ${columns}, from column_${layout.width + 1} on${long.where()}`
  tell(long.count, 'row has', 'rows have', ` more values than ${than}; ${further}`)
  const kept = `it was kept as part of the value${odd.where()}`
  tell(odd.count, 'row has', 'rows have', ` text behind a closing quote; ${kept}`)
  if (survey.rowCount === 0) warn('The table has no rows')
}

/** Where a table's bytes are, in an uncompressed UTF-8 file. */
interface CsvFile {
  readonly path: string
  /** After a line that names the delimiter. */
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

/** The rows that need a warning, by kind. */
class CsvNotes {
  readonly short = new RowNotes()
  readonly long = new RowNotes()
  readonly comments = new RowNotes()
  readonly blank = new RowNotes()
  readonly odd = new RowNotes()
}

interface CsvSurvey {
  readonly rowCount: number
  readonly notes: CsvNotes
  /** The same rows, at most as wide as the widest or the names. */
  readonly plain: PlainCsv
}

const SAMPLE_ROWS = 1000
const SAMPLE_CELLS = 200_000

/** Returns the first rows with their values, without blank lines. */
function sampleRows(file: CsvFile, dialect: CsvDialect): readonly SampleRow[] {
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
function surveyed(file: CsvFile, dialect: CsvDialect, layout: CsvLayout, path: string): CsvSurvey {
  const notes = new CsvNotes()
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
  return { rowCount, notes, plain: { paths: [path], ...signs, width, rowBytesMax, isPadded } }
}

/** Moves through the rows of the table in order. @returns their lines */
function* tableRows(
  rows: CsvRows,
  file: CsvFile,
  layout: CsvLayout,
  notes: CsvNotes,
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
