import { BlockWriter } from './block-writer.ts'
import { CARRIAGE_RETURN, COMMA, type CsvDialect, DOUBLE_QUOTE, LINE_FEED } from './csv-dialect.ts'
import type { CsvLayout } from './csv-layout.ts'
import { CsvRows, fileSource } from './csv-rows.ts'
import { type CsvFile, isBlank, isCommentRow } from './csv-survey.ts'
import type { PlainCsv } from './plain-csv.ts'

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
