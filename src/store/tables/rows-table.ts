import { type DuckDBAppender, type DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api'
import type { CellValue, Row } from '../../core/domain/document.ts'
import { distinctNames, quote } from '../../core/domain/identifier.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { jsonText } from '../documents/chunk-rows.ts'

const ROWS_PER_APPEND = 128
/** A chunk of long texts is appended sooner. */
const CHARS_PER_APPEND = 8_000_000
/** So many rows, or characters in them, say which columns there are. */
const FIRST_ROWS = 2000
const FIRST_CHARS = 16_000_000

interface RowsColumn {
  readonly key: string
  readonly name: string
  /** As DuckDB writes it in DDL. */
  readonly type: 'VARCHAR' | 'JSON'
}

/** A table of rows that come one after the other, of which few are held. The first ones say which columns it has. */
export class RowsTable {
  readonly columns: readonly RowsColumn[]
  readonly #rows: AsyncIterable<Row>
  #unknownKeys = new Set<string>()

  private constructor(rows: AsyncIterable<Row>, columns: readonly RowsColumn[]) {
    this.#rows = rows
    this.columns = columns
  }

  /** @throws what the rows throw */
  static async of(rows: AsyncIterable<Row>): Promise<RowsTable> {
    const source = rows[Symbol.asyncIterator]()
    const first: Row[] = []
    let chars = 0
    let next = await source.next()
    while (next.done !== true) {
      first.push(next.value)
      chars += charsOf(next.value)
      if (first.length >= FIRST_ROWS || chars >= FIRST_CHARS) break
      next = await source.next()
    }
    return new RowsTable(restored(first, source), columnsOf(first))
  }

  /**
   * Makes the table, within a transaction. What stands in columns that came too late is left out, and said.
   * @param target quoted
   */
  async make(connection: DuckDBConnection, target: string, signal: AbortSignal) {
    const definition = this.columns.map(({ name, type }) => `${quote(name)} ${type}`)
    await connection.run(`CREATE TABLE ${target} (${definition.join(', ')})`)
    const [schema = '', table = ''] = target.split('.').map((part) => part.slice(1, -1))
    const appender = await connection.createAppender(table, schema)
    let rowCount = 0
    let batch: Row[] = []
    let chars = 0
    const flush = async () => {
      this.#append(appender, batch)
      batch = []
      chars = 0
      signal.throwIfAborted()
      await yieldToEventLoop()
    }
    for await (const row of this.#rows) {
      batch.push(row)
      rowCount += 1
      chars += charsOf(row)
      if (batch.length >= ROWS_PER_APPEND || chars >= CHARS_PER_APPEND) await flush()
    }
    if (batch.length > 0) await flush()
    appender.closeSync()
    return { rowCount, warnings: this.#warnings() }
  }

  #append(appender: DuckDBAppender, rows: readonly Row[]): void {
    const types = this.columns.map((_, index) => appender.columnType(index))
    const data = DuckDBDataChunk.create(types, rows.length)
    data.setColumns(
      this.columns.map(({ key, type }) => rows.map((row) => cellText(row[key], type))),
    )
    appender.appendDataChunk(data)
    appender.flushSync()
    const known = new Set(this.columns.map(({ key }) => key))
    for (const row of rows) {
      for (const key of Object.keys(row)) if (!known.has(key)) this.#unknownKeys.add(key)
    }
  }

  #warnings(): readonly string[] {
    if (this.#unknownKeys.size === 0) return []
    const names = [...this.#unknownKeys].slice(0, 10).join(', ')
    const count = this.#unknownKeys.size
    return [
      `${count} columns that only later documents have are left out: ${names}${count > 10 ? ', …' : ''}`,
    ]
  }
}

async function* restored(first: Row[], rest: AsyncIterator<Row>): AsyncGenerator<Row, void> {
  // Each is let go of as soon as it is given away.
  for (let row = first.shift(); row !== undefined; row = first.shift()) yield row
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
}

function charsOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => {
    return sum + (typeof value === 'string' ? value.length : 16)
  }, 0)
}

/** Every column of any row. Texts are VARCHAR; a column with anything else is JSON. */
function columnsOf(rows: readonly Row[]): readonly RowsColumn[] {
  const types = new Map<string, 'VARCHAR' | 'JSON'>()
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const isText = value === null || typeof value === 'string'
      if (!isText) types.set(name, 'JSON')
      else if (!types.has(name)) types.set(name, 'VARCHAR')
    }
  }
  const names = distinctNames([...types.keys()])
  return [...types].map(([key, type], index) => ({ key, name: names[index] ?? '', type }))
}

function cellText(value: CellValue | undefined, type: string): string | null {
  if (value === null || value === undefined) return null
  if (type === 'VARCHAR' && typeof value === 'string') return value.toWellFormed()
  return jsonText(value)
}
