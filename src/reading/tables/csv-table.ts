import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { distinctNames, quote } from '../../core/domain/names.ts'
import type { ReadingOptions, ReadTable } from '../../core/domain/ports/reading-ports.ts'
import { couldNotRead, type ReadingNotes, unreadable } from '../document-format.ts'
import { columnPlans, counted, shown } from './column-types.ts'
import { type CsvLayout, layoutOf, type SampleRow } from './csv-layout.ts'
import { type CsvDialect, OpenQuote } from './csv-rows.ts'
import { sniffedDialect } from './csv-sniff.ts'
import { type CsvFile, type CsvSurvey, sampleRows, surveyed } from './csv-survey.ts'
import { plainRowsSql } from './plain-csv.ts'
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
  notes.recognize({
    ...(found.dialect.delimiter !== null && { delimiter: delimiterName(found.dialect) }),
    header: layout.names !== null,
  })
  describe(layout, survey, notes)
  const names = distinctNames(
    Array.from({ length: survey.plain.width }, (_, index) => layout.names?.[index] ?? ''),
  )
  const source = plainRowsSql(survey.plain)
  const body = rows.filter(({ line }) => line >= layout.dataLine)
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
    if (found.survey.short.count + found.survey.long.count > 0) throw error
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
  let startByte = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  let linesBefore = 0
  let delimiter = delimiterOf(options.delimiter)
  const begin = new TextDecoder('latin1').decode(bytes.subarray(startByte, startByte + 16))
  // Excel writes this line, and only Excel reads it.
  const named = /^"?sep=([\t !-~])"?(\r\n|\n|\r)/.exec(begin)
  if (named !== null) {
    startByte += named[0].length
    linesBefore = 1
    delimiter ??= named[1]?.charCodeAt(0) ?? null
  }
  return {
    file: { path, startByte, linesBefore },
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

function delimiterName({ delimiter, isRun }: CsvDialect): string {
  return isRun ? 'spaces' : String.fromCharCode(delimiter ?? 0)
}

const TITLE_CHARS = 80

function describe(layout: CsvLayout, survey: CsvSurvey, { warn }: ReadingNotes): void {
  if (layout.skipped.length > 0) {
    const lines = layout.skipped.map(({ line }) => line).join(', ')
    const text = layout.skipped
      .map(({ cells }) => cells.filter((cell) => cell !== '').join(' '))
      .join(' / ')
    warn(
      `${counted(layout.skipped.length, 'line')} above the table ${layout.skipped.length === 1 ? 'is not a row' : 'are not rows'} (${lines}): ${shown(text.slice(0, TITLE_CHARS))}`,
    )
  }
  const commentCount = layout.commentLines.length + survey.comments.count
  if (commentCount > 0)
    warn(
      `${counted(commentCount, 'line')} that begin${commentCount === 1 ? 's' : ''} with # ${commentCount === 1 ? 'is a comment, not a row' : 'are comments, not rows'}`,
    )
  if (survey.blank.count > 0) {
    warn(
      `${counted(survey.blank.count, 'empty line')} ${survey.blank.count === 1 ? 'is not a row' : 'are not rows'}${survey.blank.where()}`,
    )
  }
  const { short, long, odd } = survey
  const than = layout.names === null ? 'most others' : 'the header'
  if (short.count > 0) {
    warn(
      `${counted(short.count, 'row')} ${short.count === 1 ? 'has' : 'have'} fewer values than ${than}; the missing ones are NULL${short.where()}`,
    )
  }
  if (long.count > 0) {
    warn(
      `${counted(long.count, 'row')} ${long.count === 1 ? 'has' : 'have'} more values than ${than}; they are in ${counted(survey.plain.width - layout.width, 'further column')}, from column_${layout.width + 1} on${long.where()}`,
    )
  }
  if (odd.count > 0) {
    warn(
      `${counted(odd.count, 'row')} ${odd.count === 1 ? 'has' : 'have'} text behind a closing quote; it was kept as part of the value${odd.where()}`,
    )
  }
  if (survey.rowCount === 0) warn('The table has no rows')
}
