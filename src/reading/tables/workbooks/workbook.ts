import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { ReadingOptions, ReadTable } from '../../../core/domain/ports/reading-ports.ts'
import { type ReadingNotes, unreadable } from '../../document-format.ts'
import { shown } from '../column-types.ts'
import { odsSheets } from './ods.ts'
import { SheetTable } from './sheet-table.ts'
import { type SheetPart, xlsxSheets } from './xlsx.ts'
import { ZipParts } from './zip-parts.ts'

const SHEETS_MAX = 255

/** Turns each non-empty sheet of a workbook into a table. @throws AppError `file_unreadable` */
export async function readWorkbook(
  connection: DuckDBConnection,
  given: {
    readonly path: string
    readonly format: 'xlsx' | 'ods'
    readonly options: ReadingOptions
  },
  folder: string,
  notes: ReadingNotes,
): Promise<readonly ReadTable[]> {
  const { path, format, options } = given
  const parts = await ZipParts.open(path)
  const sheets = await (format === 'xlsx' ? xlsxSheets(parts) : odsSheets(parts))
  const wanted = wantedSheets(sheets, options.sheet)
  const tables: ReadTable[] = []
  const emptyNames: string[] = []
  for (const sheet of wanted) {
    const rows = join(folder, 'rows.csv')
    const target = join(folder, `table-${tables.length}.parquet`)
    const table = new SheetTable(sheet.name, rows)
    await sheet.read(table)
    const header = { header: options.header, allText: options.allText === true }
    const read = await table.table(connection, target, header, notes.warn)
    await rm(rows, { force: true })
    if (read === null) emptyNames.push(sheet.name)
    else tables.push(read)
    if (sheet.isHidden && read !== null)
      notes.warn(`Sheet ${shown(sheet.name)} is hidden in the workbook`)
  }
  notes.recognize({ sheets: sheets.map(({ name }) => name) })
  if (tables.length === 0) throw unreadable('The workbook has no sheet with something in it')
  if (emptyNames.length > 0)
    notes.warn(`Empty: ${emptyNames.map((name) => `sheet ${shown(name)}`).join(', ')}`)
  return tables
}

/** By name, or by number counted from 1. */
function wantedSheets(
  sheets: readonly SheetPart[],
  wanted: string | undefined,
): readonly SheetPart[] {
  if (wanted === undefined) {
    if (sheets.length <= SHEETS_MAX) return sheets
    throw unreadable(
      `The workbook has ${sheets.length} sheets; at most ${SHEETS_MAX} are read at once`,
    )
  }
  const key = wanted.toLowerCase()
  const named = sheets.find(({ name }) => name.toLowerCase() === key)
  const found = named ?? (/^\d{1,4}$/.test(wanted) ? sheets[Number(wanted) - 1] : undefined)
  if (found !== undefined) return [found]
  const names = sheets.map(({ name }) => shown(name)).join(', ')
  throw unreadable(`The workbook has no sheet ${shown(wanted)}; it has ${names}`)
}
