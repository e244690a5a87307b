import { closeSync, openSync, writeSync } from 'node:fs'
import { literal } from '../../core/domain/identifier.ts'
import type { CsvLayout } from './csv-layout.ts'
import {
  CARRIAGE_RETURN,
  COMMA,
  type CsvDialect,
  CsvRows,
  DOUBLE_QUOTE,
  fileSource,
  LINE_FEED,
} from './csv-rows.ts'
import { type CsvFile, isBlank, isCommentRow } from './csv-survey.ts'

/** Files of rows without names, one after the other, in a dialect that can be read in one way only. */
export interface PlainCsv {
  readonly paths: readonly string[]
  readonly delimiter: number
  readonly quote: number
  readonly width: number
  readonly rowCount: number
  /** Lines that are no rows. */
  readonly skipCount: number
  readonly rowBytesMax: number
  /** Rows end with `\r\n`, else with `\n`. DuckDB would take the first end it meets, be it within quotes. */
  readonly hasReturns?: boolean
  /** Rows may be narrower than the table. */
  readonly isPadded?: boolean
}

const LINE_BYTES = 2 * 1024 * 1024

/** What a FROM takes: columns `c0`, `c1` … of text. DuckDB decides nothing about how the files are written. */
export function plainRowsSql(plain: PlainCsv): string {
  const { delimiter, width, skipCount, rowBytesMax, isPadded = false, hasReturns = false } = plain
  const columns = Array.from({ length: width }, (_, index) => `'c${index}': 'VARCHAR'`)
  const mark = literal(String.fromCharCode(plain.quote))
  const lineBytes = Math.max(LINE_BYTES, rowBytesMax + 1024)
  return `read_csv([${plain.paths.map(literal).join(', ')}], auto_detect = false, header = false,
    skip = ${skipCount}, delim = ${literal(String.fromCharCode(delimiter))}, quote = ${mark}, escape = ${mark},
    new_line = '${hasReturns ? '\\r\\n' : '\\n'}', comment = '', columns = {${columns.join(', ')}}, max_line_size = ${lineBytes}, buffer_size = ${lineBytes * 4},
    null_padding = ${isPadded}, parallel = ${!isPadded}, strict_mode = true, encoding = 'utf-8')`
}

const BLOCK_BYTES = 1024 * 1024

/** Writes a file in blocks. */
export class BlockWriter {
  sizeBytes = 0
  readonly #file: number
  readonly #block = new Uint8Array(BLOCK_BYTES)
  #filled = 0

  constructor(path: string) {
    this.#file = openSync(path, 'w', 0o600)
  }

  write(bytes: Uint8Array): void {
    this.sizeBytes += bytes.length
    if (bytes.length > this.#block.length - this.#filled) this.#flush()
    if (bytes.length > this.#block.length) writeAll(this.#file, bytes)
    else {
      this.#block.set(bytes, this.#filled)
      this.#filled += bytes.length
    }
  }

  writeByte(byte: number): void {
    if (this.#filled === this.#block.length) this.#flush()
    this.#block[this.#filled] = byte
    this.#filled += 1
    this.sizeBytes += 1
  }

  writeQuoted(bytes: Uint8Array, quote: number): void {
    this.writeByte(quote)
    let start = 0
    for (let at = bytes.indexOf(quote); at >= 0; at = bytes.indexOf(quote, start)) {
      this.write(bytes.subarray(start, at + 1))
      this.writeByte(quote)
      start = at + 1
    }
    this.write(bytes.subarray(start))
    this.writeByte(quote)
  }

  close(): void {
    try {
      this.#flush()
    } finally {
      closeSync(this.#file)
    }
  }

  #flush(): void {
    writeAll(this.#file, this.#block.subarray(0, this.#filled))
    this.#filled = 0
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  let done = 0
  while (done < bytes.length) done += writeSync(file, bytes, done)
}

/** Writes the rows so that nobody can read them in two ways: rows that are plain as they stand are only copied. */
export function plainCopy(
  file: CsvFile,
  dialect: CsvDialect,
  layout: CsvLayout,
  { path, width }: { readonly path: string; readonly width: number },
): PlainCsv {
  const delimiter = dialect.delimiter ?? COMMA
  const quote = dialect.quote ?? DOUBLE_QUOTE
  const canCopy = dialect.delimiter !== null && !dialect.isRun && !dialect.skipsSpace && width > 1
  const source = fileSource(file.path, file.startByte)
  const target = new BlockWriter(path)
  let rowCount = 0
  let rowBytesMax = 0
  try {
    const rows = new CsvRows(source, dialect)
    while (rows.next()) {
      if (rows.line + file.linesBefore < layout.dataLine) continue
      if (isBlank(rows) || isCommentRow(rows, layout)) continue
      const start = target.sizeBytes
      const isPlain =
        canCopy &&
        rows.count === width &&
        !rows.isUnusual &&
        !rows.rowBytes().includes(CARRIAGE_RETURN) &&
        (dialect.quote !== null || !rows.rowBytes().includes(quote))
      if (isPlain) target.write(rows.rowBytes())
      else writeRow(target, rows, { delimiter, quote, width })
      target.writeByte(LINE_FEED)
      rowCount += 1
      rowBytesMax = Math.max(rowBytesMax, target.sizeBytes - start)
    }
  } finally {
    source.close()
    target.close()
  }
  return { paths: [path], delimiter, quote, width, rowCount, skipCount: 0, rowBytesMax }
}

function writeRow(
  target: BlockWriter,
  rows: CsvRows,
  { delimiter, quote, width }: { delimiter: number; quote: number; width: number },
): void {
  for (let index = 0; index < width; index += 1) {
    if (index > 0) target.writeByte(delimiter)
    // The only value of a row: without quotes it would be an empty line.
    if (index >= rows.count) {
      if (width === 1) target.writeQuoted(EMPTY, quote)
      continue
    }
    const bytes = rows.hasEscapes(index) ? ENCODER.encode(rows.text(index)) : rows.bytes(index)
    if (width > 1 && isPlainValue(bytes, delimiter, quote)) target.write(bytes)
    else target.writeQuoted(bytes, quote)
  }
}

const EMPTY = new Uint8Array(0)
const ENCODER = new TextEncoder()

function isPlainValue(bytes: Uint8Array, delimiter: number, quote: number): boolean {
  for (const byte of bytes) {
    if (byte === delimiter || byte === quote || byte === 0x0a || byte === 0x0d) return false
  }
  return true
}
