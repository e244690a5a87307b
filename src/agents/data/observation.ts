import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { csvRow } from '../../core/domain/shown-values.ts'
import { AGENT_LIMITS, byteSize, firstBytes, firstChars } from '../agent-limits.ts'

export interface ObservationLimits {
  readonly rowsMax: number
  readonly bytesMax: number
}

/** The first rows of a result, as many as a model is shown. */
export interface FirstRows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ResultValue[])[]
  readonly hasMore: boolean
}

/** Reads at most `rowsMax` rows and drops the rest, which frees the connection. */
export async function readRows(
  stream: RowStream,
  rowsMax: number,
  signal: AbortSignal,
): Promise<FirstRows> {
  const columns = stream.columns.map((column) => column.name)
  const rows: (readonly ResultValue[])[] = []
  for await (const batch of stream.batches) {
    signal.throwIfAborted()
    rows.push(...batch.slice(0, rowsMax + 1 - rows.length))
    if (rows.length > rowsMax) break
  }
  signal.throwIfAborted()
  return { columns, rows: rows.slice(0, rowsMax), hasMore: rows.length > rowsMax }
}

/**
 * Rows as text for a model: the columns, then CSV (RFC 4180: `\r\n`, quotes doubled). The first line says what was left out.
 * `byteSize(text) <= bytesMax`.
 */
export function observationOf(
  result: FirstRows,
  limits: ObservationLimits,
): {
  readonly text: string
  /** How many of the rows the text contains. */
  readonly shownCount: number
} {
  const names = result.columns.map((name) => `'${name}'`).join(', ')
  const head = `Output columns: ${names}\nResult in CSV format (dialect is 'excel'):\n`
  const header = csvLine(result.columns, AGENT_LIMITS.cellCharsMax)
  const room = limits.bytesMax - byteSize(head) - byteSize(header) - NOTE_BYTES
  const lines = fittingLines(result, room)
  const cut = lines.length < result.rows.length ? 'bytes' : result.hasMore ? 'rows' : 'nothing'
  const text = `${noteOf(cut, lines.length, limits)}${head}${header}${lines.join('')}`
  return { text: firstBytes(text, limits.bytesMax), shownCount: lines.length }
}

/** Room for the note on what was left out. */
const NOTE_BYTES = 160

function noteOf(cut: 'bytes' | 'rows' | 'nothing', shownCount: number, limits: ObservationLimits) {
  if (cut === 'nothing') return ''
  const limit = cut === 'rows' ? `${limits.rowsMax} rows` : `${limits.bytesMax} bytes`
  const advice = 'Select less, filter or aggregate to see the rest'
  return `The first ${shownCount} rows, cut at ${limit}; there are more. ${advice}.\n`
}

/**
 * As many rows as fit. The first is shortened to fit, so that a long text never hides a whole result.
 */
function fittingLines({ columns, rows }: FirstRows, roomBytes: number): readonly string[] {
  const lines: string[] = []
  let left = roomBytes
  for (const row of rows) {
    const whole = csvLine(row.map(shownCell), AGENT_LIMITS.cellCharsMax)
    const line = lines.length === 0 && byteSize(whole) > left ? shortLine(row, left) : whole
    if (byteSize(line) > left) break
    lines.push(line)
    left -= byteSize(line)
  }
  return columns.length === 0 ? [] : lines
}

/**
 * Most UTF-8 bytes of one code unit, and the room for quotes and the note on a cut cell.
 */
const CHAR_BYTES_MAX = 3
const CELL_OVERHEAD_BYTES = 40

function shortLine(row: readonly ResultValue[], roomBytes: number): string {
  const share = roomBytes / row.length - CELL_OVERHEAD_BYTES
  return csvLine(row.map(shownCell), Math.max(0, Math.floor(share / CHAR_BYTES_MAX)))
}

function csvLine(cells: readonly string[], cellCharsMax: number): string {
  return csvRow(cells.map((cell) => (cell === '' ? null : cutCell(cell, cellCharsMax))))
}

function cutCell(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const shown = firstChars(text, charsMax)
  return `${shown}… (${text.length - shown.length} more characters)`
}

/** Nothing for NULL, JSON for lists and objects. */
function shownCell(value: ResultValue): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
