import { closeSync, openSync, writeSync } from 'node:fs'
import { literal } from '../../core/domain/names.ts'

/**
 * Files of rows without names, in order, whose lines end with `\n` and can be read in only one way.
 */
export interface PlainCsv {
  readonly paths: readonly string[]
  readonly delimiter: number
  readonly quote: number
  readonly width: number
  readonly rowBytesMax: number
  /** Whether rows may be narrower than the table. */
  readonly isPadded: boolean
}

const LINE_BYTES = 2 * 1024 * 1024

/** Each thread holds thousands of rows, and those of a wider table do not fit in memory twice. */
const PARALLEL_COLUMNS_MAX = 500

/** Returns the FROM clause with text columns `c0`, `c1`, …, for which DuckDB detects nothing. */
export function plainRowsSql({ paths, delimiter, quote, width, rowBytesMax, isPadded }: PlainCsv) {
  const columns = Array.from({ length: width }, (_, index) => `'c${index}': 'VARCHAR'`)
  const mark = literal(String.fromCharCode(quote))
  const lineBytes = Math.max(LINE_BYTES, rowBytesMax + 1024)
  return `read_csv([${paths.map(literal).join(', ')}], auto_detect = false, header = false,
    delim = ${literal(String.fromCharCode(delimiter))}, quote = ${mark}, escape = ${mark},
    new_line = '\\n', comment = '', columns = {${columns.join(', ')}}, max_line_size = ${lineBytes}, buffer_size = ${lineBytes * 4},
    null_padding = ${isPadded}, parallel = ${!isPadded && width <= PARALLEL_COLUMNS_MAX}, strict_mode = true, encoding = 'utf-8')`
}

const BLOCK_BYTES = 1024 * 1024

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

export function writeAll(file: number, bytes: Uint8Array): void {
  let done = 0
  while (done < bytes.length) done += writeSync(file, bytes, done)
}
