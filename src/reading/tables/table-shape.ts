/**
 * Checks a file's structure before DuckDB reads it, because some shapes crash a process or block it
 * for minutes.
 */
import { createReadStream } from 'node:fs'
import { couldNotRead } from '../document-format.ts'
import { BACKSLASH } from './csv-rows.ts'

/** DuckDB 1.5.5 reads JSON recursively, and crashes at some thousand levels. */
const LEVELS_MAX = 200

/**
 * DuckDB 1.5.5 takes over half a minute to detect the format of a CSV file with 100,000 columns.
 */
export const FILE_COLUMNS_MAX = 10_000

const LINE_BREAK = 0x0a
const QUOTE = 0x22
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const EXACT_DIGITS = 15

const BYTES_PER_READ = 1024 * 1024

/** @throws AppError `file_unreadable` for lists and objects nested too deeply */
export async function checkJsonShape(path: string): Promise<{
  /** Whether some integers have more digits than a DOUBLE can keep. */
  readonly hasLongIntegers: boolean
  /** Whether some numbers with a fraction do. */
  readonly hasLongFractions: boolean
}> {
  let level = 0
  let isString = false
  let isEscaped = false
  let digits = 0
  let hasLongIntegers = false
  let hasLongFractions = false
  const file: AsyncIterable<Uint8Array> = createReadStream(path, { highWaterMark: BYTES_PER_READ })
  for await (const bytes of file) {
    for (const byte of bytes) {
      if (isEscaped) isEscaped = false
      else if (isString) {
        // A string cannot contain a line end, so an unclosed one does not hide the rest.
        if (byte === QUOTE || byte === LINE_BREAK) isString = false
        else if (byte === BACKSLASH) isEscaped = true
      } else if (byte >= ZERO && byte <= NINE) {
        digits += 1
        if (digits > EXACT_DIGITS) hasLongIntegers = true
      } else if (byte === POINT) {
        if (digits > EXACT_DIGITS) hasLongFractions = true
        digits = -Infinity
      } else {
        digits = 0
        if (byte === QUOTE) isString = true
        else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
          level += 1
          if (level > LEVELS_MAX) {
            throw couldNotRead(`JSON has at most ${LEVELS_MAX} levels of lists and objects`)
          }
        } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) level -= 1
      }
    }
  }
  return { hasLongIntegers, hasLongFractions }
}
