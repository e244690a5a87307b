import { closeSync, openSync, writeSync } from 'node:fs'
import { COMMA, type CsvDialect, DOUBLE_QUOTE, LINE_FEED } from './csv-dialect.ts'
import type { CsvLayout } from './csv-layout.ts'
import { CsvRows, fileSource } from './csv-rows.ts'
import { type CsvFile, isBlank, isCommentRow } from './csv-survey.ts'

const BLOCK_BYTES = 1024 * 1024

/** A file of rows that are all equally wide, without names, in a dialect that says all. */
export interface PlainCsv {
  readonly path: string
  readonly delimiter: number
  readonly quote: number
  readonly width: number
  readonly rowCount: number
  /** Lines that are no rows. */
  readonly skipCount: number
  readonly rowBytesMax: number
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
  return { path, delimiter, quote, width, rowCount, skipCount: 0, rowBytesMax }
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

/** Writes a file in blocks. */
class BlockWriter {
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
