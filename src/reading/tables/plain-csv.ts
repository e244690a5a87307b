import { literal } from '../../core/domain/identifier.ts'

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
