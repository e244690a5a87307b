import { closeSync, openSync, readSync } from 'node:fs'
import { AppError } from '../../core/errors.ts'
import { couldNotRead } from '../document-format.ts'

const BLOCK_BYTES = 1024 * 1024

/** DuckDB holds 2048 values of each column per thread; 4000 columns do not fit in its memory. */
export const TABLE_COLUMNS_MAX = 2000
/** A longer line means an unclosed quote, or that the file is not a table. */
const ROW_BYTES_MAX = 32 * 1024 * 1024

/** Thrown for a quote that is never closed. */
export class OpenQuote extends AppError {
  readonly place: string

  constructor(line: number) {
    const place = `the row that begins in line ${line}`
    super(
      'file_unreadable',
      `The file could not be read: a quote is opened in ${place} and never closed`,
    )
    this.place = place
  }
}

/** Thrown for a row with more values than a table may have columns. */
export class TooWide extends AppError {
  constructor(line: number) {
    super(
      'file_unreadable',
      `The file could not be read: the row that begins in line ${line} has more than ${TABLE_COLUMNS_MAX} values, and a table has at most as many columns`,
    )
  }
}

/** One pass, with one row in memory. Its values are `text(0)` to `text(count - 1)`. */
export class CsvRows {
  /** The number of values in the current row, and its first line, counted from 1. */
  count = 0
  line = 0
  /** The start and end of the current row in the file. */
  startByte = 0
  endByte = 0
  /** Whether a quote closes before the end of its value, or never. */
  hasOddQuote = false
  /** Whether a value differs from plain CSV, so that DuckDB might read it differently. */
  isUnusual = false
  readonly #dialect: CsvDialect
  readonly #source: ByteSource
  #buffer: Uint8Array
  /** The file position of the buffer's first byte, its length, and its next row's start. */
  #offset = 0
  #filled = 0
  #at = 0
  #nextLine = 1
  #isAtEnd = false
  #starts = new Int32Array(64)
  #ends = new Int32Array(64)
  /** 0: plain; 1: quoted; 2: quoted with escapes; 3: quoted with text after it. */
  #kinds = new Uint8Array(64)

  constructor(source: ByteSource, dialect: CsvDialect) {
    this.#source = source
    this.#dialect = dialect
    this.#buffer = new Uint8Array(BLOCK_BYTES)
  }

  /** @throws AppError `file_unreadable` for a row too long or wide, or an unclosed quote */
  next(): boolean {
    for (;;) {
      if (this.#at >= this.#filled && !this.#fill()) return false
      if (this.#row()) return true
      if (!this.#fill() && this.#row()) return true
    }
  }

  isQuoted(index: number): boolean {
    return this.#kinds[index] !== 0
  }

  isEmpty(index: number): boolean {
    return this.#kinds[index] === 0 && this.#starts[index] === this.#ends[index]
  }

  /** The raw bytes of a value without escapes. */
  bytes(index: number): Uint8Array {
    return this.#buffer.subarray(this.#starts[index], this.#ends[index])
  }

  hasEscapes(index: number): boolean {
    return (this.#kinds[index] ?? 0) >= 2
  }

  text(index: number): string {
    const text = DECODER.decode(this.bytes(index))
    const kind = this.#kinds[index] ?? 0
    return kind < 2 ? text : this.#unescaped(text, kind === 3)
  }

  /** The raw bytes of the current row, without its end. */
  rowBytes(): Uint8Array {
    return this.#buffer.subarray(this.startByte - this.#offset, this.endByte - this.#offset)
  }

  /** A value with text after its closing quote, `"a"b`, is read as ab. */
  #unescaped(text: string, isOdd: boolean): string {
    const { quote, escapedBy } = this.#dialect
    const sign = quote === null ? '' : String.fromCharCode(quote)
    const closed = isOdd ? oddlyQuoted(text, sign) : text
    if (escapedBy === BACKSLASH)
      return closed.replace(/\\(.)/gs, (_, letter: string) => LETTERS[letter] ?? letter)
    return closed.replaceAll(sign + sign, sign)
  }

  /** Keeps the current row and reads more bytes. Returns false at the end. */
  #fill(): boolean {
    if (this.#isAtEnd) return false
    const rest = this.#filled - this.#at
    if (rest > ROW_BYTES_MAX) throw this.#tooLong()
    if (rest > this.#buffer.length / 2) {
      const larger = new Uint8Array(this.#buffer.length * 2)
      larger.set(this.#buffer.subarray(this.#at, this.#filled))
      this.#buffer = larger
    } else this.#buffer.copyWithin(0, this.#at, this.#filled)
    this.#offset += this.#at
    this.#at = 0
    const read = this.#source.read(this.#buffer.subarray(rest))
    this.#filled = rest + read
    if (read === 0) this.#isAtEnd = true
    return read > 0
  }

  #tooLong(): AppError {
    return couldNotRead(
      `the row that begins in line ${this.#nextLine} is longer than ${ROW_BYTES_MAX / 1024 / 1024} MiB`,
    )
  }

  /** Reads one row from the end of the last one. Returns false if the buffer ends first. */
  #row(): boolean {
    const { quote, isRun, skipsSpace, lineEnd } = this.#dialect
    const delimiter = this.#dialect.delimiter ?? -1
    const buffer = this.#buffer
    const filled = this.#filled
    let at = this.#at
    if (at >= filled) return false
    let count = 0
    let lines = 1
    this.hasOddQuote = false
    this.isUnusual = false
    if (isRun) at = this.#behind(delimiter, at)
    for (;;) {
      if (count >= this.#starts.length) return this.#wider()
      if (skipsSpace) at = this.#behind(SPACE, at)
      this.#start = at
      this.#end = -1
      this.#kind = 0
      if (at < filled && buffer[at] === quote) {
        at = this.#quoted(at + 1)
        if (at < 0) return false
        lines += this.#linesWithin
      }
      // The hot loop, which handles everything outside of quotes.
      let byte = -1
      while (at < filled) {
        byte = buffer[at] ?? 0
        if (byte === delimiter || byte === lineEnd) break
        at += 1
      }
      if (at >= filled && !this.#isAtEnd) return false
      const isLast = at >= filled || byte === lineEnd
      this.#setValue(count, isLast, at)
      count += 1
      if (isLast) break
      at += 1
      if (isRun) {
        at = this.#behind(delimiter, at)
        // Spaces at the end of a line are not a value.
        if (at < filled ? buffer[at] === lineEnd : this.#isAtEnd) break
      }
    }
    this.count = count
    this.line = this.#nextLine
    this.#nextLine += lines
    this.#endRow(at)
    return true
  }

  /** Returns the position of the first other character. */
  #behind(sign: number, start: number): number {
    let at = start
    while (at < this.#filled && this.#buffer[at] === sign) at += 1
    return at
  }

  #start = 0
  #end = -1
  #kind = 0

  /** Moves past the closing quote of a value. Returns -1 if the buffer does not contain it. */
  #quoted(start: number): number {
    const { delimiter, lineEnd } = this.#dialect
    const closing = this.#closingQuote(start)
    if (closing < 0) return -1
    const at = closing + 1
    const after = at < this.#filled ? this.#buffer[at] : lineEnd
    if (after === delimiter || after === lineEnd || after === CARRIAGE_RETURN) {
      this.#start = start
      this.#end = closing
      this.#kind = this.#escapesWithin ? 2 : 1
    } else {
      // Text after a closed quote belongs to the value, including the quote.
      this.#kind = 3
      this.hasOddQuote = true
      this.isUnusual = true
    }
    return at
  }

  #setValue(index: number, isLast: boolean, at: number): void {
    let end = this.#end
    if (end < 0) {
      end = at
      const hasReturn = isLast && this.#dialect.lineEnd === LINE_FEED
      if (hasReturn && end > this.#start && this.#buffer[end - 1] === CARRIAGE_RETURN) end -= 1
    }
    this.#starts[index] = this.#start
    this.#ends[index] = end
    this.#kinds[index] = this.#kind
  }

  #endRow(at: number): void {
    const isReturn = this.#dialect.lineEnd === LINE_FEED && this.#buffer[at - 1] === CARRIAGE_RETURN
    this.startByte = this.#offset + this.#at
    this.endByte = this.#offset + at - (at > this.#at && isReturn ? 1 : 0)
    this.#at = at + 1
  }

  #linesWithin = 0
  #escapesWithin = false

  /** Returns where a quote opened before `at` closes; -1 if not in this buffer. */
  #closingQuote(at: number): number {
    const { quote, escapedBy } = this.#dialect
    const buffer = this.#buffer
    const filled = this.#filled
    this.#linesWithin = 0
    this.#escapesWithin = false
    for (let index = at; index < filled; index += 1) {
      const byte = buffer[index]
      if (byte === LINE_FEED) this.#linesWithin += 1
      else if (byte === BACKSLASH && escapedBy === BACKSLASH) {
        index += 1
        this.#escapesWithin = true
        this.isUnusual = true
      } else if (byte === quote) {
        // The next byte decides.
        if (index + 1 >= filled && !this.#isAtEnd) return -1
        if (escapedBy !== quote || buffer[index + 1] !== quote) {
          return index
        }
        index += 1
        this.#escapesWithin = true
      }
    }
    if (this.#isAtEnd) throw new OpenQuote(this.#nextLine)
    if (filled - at > ROW_BYTES_MAX) throw new OpenQuote(this.#nextLine)
    return -1
  }

  /** Makes room for more values, then reads the row again. */
  #wider(): boolean {
    const size = this.#starts.length * 2
    if (size > TABLE_COLUMNS_MAX * 16) throw new TooWide(this.#nextLine)
    this.#starts = new Int32Array(size)
    this.#ends = new Int32Array(size)
    this.#kinds = new Uint8Array(size)
    return this.#row()
  }
}

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

function oddlyQuoted(text: string, sign: string): string {
  const closing = text.indexOf(sign, 1)
  return closing < 0 ? text : text.slice(1, closing) + text.slice(closing + 1)
}

/** A source of bytes, read piece by piece. */
interface ByteSource {
  /** Fills the start of `target`. Returns 0 at the end. */
  read(target: Uint8Array): number
}

export function bytesOf(bytes: Uint8Array): ByteSource {
  let at = 0
  return {
    read: (target) => {
      const piece = bytes.subarray(at, at + target.length)
      target.set(piece)
      at += piece.length
      return piece.length
    },
  }
}

/** Reads a file from a position on. Must be closed. */
export function fileSource(path: string, startByte: number): ByteSource & { close(): void } {
  const file = openSync(path, 'r')
  let at = startByte
  return {
    read: (target) => {
      const size = readSync(file, target, 0, target.length, at)
      at += size
      return size
    },
    close: () => closeSync(file),
  }
}

/** Special characters are ASCII bytes, so they are unambiguous in UTF-8. */
export interface CsvDialect {
  /** Null if each line is one value. */
  readonly delimiter: number | null
  /** Whether consecutive delimiters count as one, as in columns aligned with spaces. */
  readonly isRun: boolean
  /** Null if quotes are ordinary characters. */
  readonly quote: number | null
  /** The character before a quote within quotes: the quote itself, or a backslash. */
  readonly escapedBy: number | null
  /** Whether there may be spaces between a delimiter and a quote. */
  readonly skipsSpace: boolean
  /** `\n` (with or without `\r` before it), or only `\r`. */
  readonly lineEnd: number
}

export const LINE_FEED = 0x0a
export const CARRIAGE_RETURN = 0x0d
export const SPACE = 0x20
export const DOUBLE_QUOTE = 0x22
export const HASH = 0x23
export const SINGLE_QUOTE = 0x27
export const COMMA = 0x2c
export const BACKSLASH = 0x5c
