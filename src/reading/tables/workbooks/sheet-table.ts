import type { DuckDBConnection } from '@duckdb/node-api'
import { distinctNames, quote } from '../../../core/domain/names.ts'
import type { ReadTable } from '../../../core/domain/ports/reading-ports.ts'
import { counted } from '../../../core/short-text.ts'
import { unreadable } from '../../document-format.ts'
import { shown } from '../column-types.ts'
import { layoutOf, type SampleRow } from '../csv-layout.ts'
import { COMMA, DOUBLE_QUOTE, LINE_FEED, TABLE_COLUMNS_MAX } from '../csv-rows.ts'
import { BlockWriter, plainRowsSql } from '../plain-csv.ts'
import { writtenTable } from '../written-table.ts'

/** The content of a cell, with its text in DuckDB's notation. */
export type CellType = 'number' | 'boolean' | 'date' | 'timestamp' | 'time' | 'text'

/** A rectangle of merged cells, counted from 0, with inclusive ends. */
interface MergedCells {
  readonly firstRow: number
  readonly lastRow: number
  readonly firstColumn: number
  readonly lastColumn: number
}

const HEAD_ROWS = 100
/** The most non-empty cells: a hundred times the usual number, which takes some minutes. */
const CELLS_MAX = 200_000_000
const HEADER_ROWS_MAX = 10

/** A column gets a slot with its first value, so columns without values cost nothing. */
interface HeadRow {
  readonly row: number
  readonly cells: readonly (string | undefined)[]
  readonly types: readonly (CellType | undefined)[]
}

/** Only the first rows stay in memory; merged cells come last in the file. */
export class SheetTable {
  readonly name: string
  errorCount = 0
  /** The number of formulas without a stored result. */
  unsolvedCount = 0
  readonly #path: string
  readonly #headPath: string
  #writer: BlockWriter
  readonly #head: HeadRow[] = []
  readonly #merged: MergedCells[] = []
  readonly #slots = new Map<number, number>()
  /** How often each type occurs in each slot, below the first rows. */
  readonly #counts: Map<CellType, number>[] = []
  readonly #hasFraction: boolean[] = []
  #cells: (string | undefined)[] = []
  #types: (CellType | undefined)[] = []
  #rowIndex = 0
  #writtenCount = 0
  #cellCount = 0
  #rowBytesMax = 0
  #lastRow = -1
  #blankCount = 0

  constructor(name: string, path: string) {
    this.name = name
    this.#path = path
    this.#headPath = `${path}-head`
    this.#writer = new BlockWriter(path)
  }

  /** @param index of the row, counted from 0 */
  startRow(index: number): void {
    this.#rowIndex = index
    this.#cells = []
    this.#types = []
  }

  cell(column: number, type: CellType, text: string): void {
    this.#cellCount += 1
    if (this.#cellCount > CELLS_MAX) {
      throw unreadable(`The sheet ${shown(this.name)} has more than ${CELLS_MAX} cells`)
    }
    if (text === '') return
    const slot = this.#slotOf(column)
    this.#cells[slot] = text
    this.#types[slot] = type
  }

  #slotOf(column: number): number {
    const found = this.#slots.get(column)
    if (found !== undefined) return found
    const slot = this.#slots.size
    if (slot >= TABLE_COLUMNS_MAX) {
      throw unreadable(
        `The sheet ${shown(this.name)} has values in more than ${TABLE_COLUMNS_MAX} columns; a table has at most as many`,
      )
    }
    this.#slots.set(column, slot)
    return slot
  }

  endRow(): void {
    if (this.#cells.length === 0) return
    if (this.#lastRow >= 0) this.#blankCount += this.#rowIndex - this.#lastRow - 1
    this.#lastRow = this.#rowIndex
    if (this.#head.length < HEAD_ROWS) {
      this.#head.push({ row: this.#rowIndex, cells: this.#cells, types: this.#types })
    } else this.#write(this.#cells, this.#types)
  }

  merge(cells: MergedCells): void {
    if (this.#merged.length < 10_000) this.#merged.push(cells)
  }

  #write(cells: readonly (string | undefined)[], types: readonly (CellType | undefined)[]): void {
    const start = this.#writer.sizeBytes
    for (let index = 0; index < cells.length; index += 1) {
      if (index > 0) this.#writer.writeByte(COMMA)
      const text = cells[index]
      const type = types[index]
      if (text === undefined || type === undefined) continue
      this.#count(index, type, text)
      if (type === 'text') this.#writer.writeQuoted(ENCODER.encode(text), DOUBLE_QUOTE)
      else this.#writer.write(ENCODER.encode(text))
    }
    // Rows keep their widths: missing values are NULL.
    this.#writer.writeByte(LINE_FEED)
    this.#writtenCount += 1
    this.#rowBytesMax = Math.max(this.#rowBytesMax, this.#writer.sizeBytes - start)
  }

  #count(slot: number, type: CellType, text: string): void {
    let counts = this.#counts[slot]
    if (counts === undefined) {
      counts = new Map()
      this.#counts[slot] = counts
    }
    counts.set(type, (counts.get(type) ?? 0) + 1)
    if (type === 'number' && !/^-?\d{1,18}$/.test(text)) this.#hasFraction[slot] = true
  }

  async table(
    connection: DuckDBConnection,
    target: string,
    options: { readonly header: boolean | undefined; readonly allText: boolean },
    warn: (sentence: string) => void,
  ): Promise<ReadTable | null> {
    const head = this.#head
    if (head.length === 0) return null
    const say = (sentence: string) => warn(`Sheet ${shown(this.name)}: ${sentence}`)
    const columns = [...this.#slots.keys()].sort((left, right) => left - right)
    const rows = head.map((row): SampleRow => {
      const cells = columns.map((column) => this.#textAt(row, column))
      return { line: row.row + 1, cells: cells.slice(0, cells.findLastIndex(Boolean) + 1) }
    })
    const layout = layoutOf(rows, options.header)
    const titles = layout.skipped.length + layout.commentLines.length
    if (titles > 0) {
      const text = rows
        .slice(0, titles)
        .map(({ cells }) => cells.filter(Boolean).join(' '))
        .join(' / ')
      say(
        `${counted(titles, 'row')} above the table ${titles === 1 ? 'is' : 'are'} not part of it: ${shown(text)}`,
      )
    }
    const headerRows = layout.names === null ? [] : this.#headerRows(head.slice(titles))
    const names = columns.map((column) => this.#nameOf(column, headerRows))
    this.#writer.close()
    this.#writer = new BlockWriter(this.#headPath)
    for (const { cells, types } of head.slice(titles + headerRows.length)) this.#write(cells, types)
    this.#writer.close()
    const firstRow = head[titles]?.row ?? 0
    const bodyMerges = this.#merged.filter(
      ({ firstRow: row }) => row >= firstRow + headerRows.length,
    )
    if (bodyMerges.length > 0) {
      say(
        `${counted(bodyMerges.length, 'group')} of merged cells: the value is in the first cell, the others are NULL`,
      )
    }
    this.#sayWhatIsNull(say)
    return this.#written(connection, target, { columns, names, say, allText: options.allText })
  }

  #sayWhatIsNull(say: (sentence: string) => void): void {
    if (this.errorCount > 0)
      say(
        `${counted(this.errorCount, 'cell')} with an error such as #N/A ${this.errorCount === 1 ? 'is' : 'are'} NULL`,
      )
    if (this.unsolvedCount > 0)
      say(
        `${counted(this.unsolvedCount, 'formula')} ${this.unsolvedCount === 1 ? 'is' : 'are'} NULL: the workbook does not contain their results; open it in a spreadsheet program, save it and send it again`,
      )
    if (this.#blankCount > 0)
      say(
        `${counted(this.#blankCount, 'empty row')} ${this.#blankCount === 1 ? 'is' : 'are'} left out`,
      )
  }

  #textAt({ cells }: HeadRow, column: number): string {
    const slot = this.#slots.get(column)
    return (slot === undefined ? undefined : cells[slot]) ?? ''
  }

  async #written(
    connection: DuckDBConnection,
    target: string,
    given: {
      readonly columns: readonly number[]
      readonly names: readonly string[]
      readonly say: (sentence: string) => void
      readonly allText: boolean
    },
  ): Promise<ReadTable> {
    const { columns, names, say, allText } = given
    const used = columns
      .map((column, index) => ({ slot: this.#slotOf(column), name: names[index] ?? '' }))
      .filter(({ slot, name }) => name !== '' || this.#counts[slot] !== undefined)
    const distinct = distinctNames(used.map(({ name }) => name))
    const selected = used.map(({ slot }, place) => {
      const name = distinct[place] ?? ''
      const type = allText ? 'VARCHAR' : this.#typeOf(slot, name, say)
      return `CAST(c${slot} AS ${type}) AS ${quote(name)}`
    })
    const source = plainRowsSql({
      // The first rows were written last.
      paths: [this.#headPath, this.#path],
      delimiter: COMMA,
      quote: DOUBLE_QUOTE,
      width: Math.max(this.#slots.size, 1),
      rowBytesMax: this.#rowBytesMax,
      isPadded: true,
    })
    const table = await writtenTable(
      connection,
      `(SELECT ${selected.join(', ')} FROM ${source})`,
      target,
    )
    if (table.rowCount !== this.#writtenCount) {
      throw unreadable(
        `The sheet ${shown(this.name)} could not be read: ${counted(table.rowCount, 'row')} came out of ${this.#writtenCount}`,
      )
    }
    return { ...table, name: this.name }
  }

  /** Names may span several rows if cells are merged over columns or rows. */
  #headerRows(rows: readonly HeadRow[]): readonly HeadRow[] {
    let count = 1
    for (let index = 0; index < count && count < HEADER_ROWS_MAX; index += 1) {
      const row = rows[index]
      if (row === undefined) break
      const here = this.#merged.filter(({ firstRow }) => firstRow === row.row)
      const down = Math.max(0, ...here.map(({ firstRow, lastRow }) => lastRow - firstRow))
      const isWide = here.some(({ firstColumn, lastColumn }) => lastColumn > firstColumn)
      count = Math.max(count, index + 1 + down, index + (isWide && rows.length > index + 2 ? 2 : 1))
    }
    return rows.slice(0, Math.min(count, HEADER_ROWS_MAX))
  }

  #nameOf(column: number, rows: readonly HeadRow[]): string {
    const parts = rows.map((row) => {
      const over = this.#merged.find(
        ({ firstRow, firstColumn, lastColumn }) =>
          firstRow === row.row && firstColumn <= column && lastColumn >= column,
      )
      return this.#textAt(row, over?.firstColumn ?? column)
        .replace(/\s+/g, ' ')
        .trim()
    })
    return parts.filter((part, index) => part !== '' && part !== parts[index - 1]).join(' / ')
  }

  #typeOf(slot: number, name: string, say: (sentence: string) => void): string {
    const counts = this.#counts[slot]
    if (counts === undefined) return 'VARCHAR'
    const types = [...counts.keys()]
    const [only] = types
    if (types.length === 1 && only === 'number')
      return this.#hasFraction[slot] === true ? 'DOUBLE' : 'BIGINT'
    if (types.length === 1 && only !== undefined) return SQL_TYPES[only]
    if (types.every((type) => type === 'date' || type === 'timestamp')) return 'TIMESTAMP'
    const textCount = counts.get('text') ?? 0
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
    if (textCount <= all / 10)
      say(
        `column ${shown(name)} is text: ${textCount === 0 ? 'its cells are of several types' : `${textCount} of ${counted(all, 'cell')} ${textCount === 1 ? 'is' : 'are'}`}`,
      )
    return 'VARCHAR'
  }
}

const ENCODER = new TextEncoder()

const SQL_TYPES: Readonly<Record<CellType, string>> = {
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  date: 'DATE',
  timestamp: 'TIMESTAMP',
  time: 'TIME',
  text: 'VARCHAR',
}
