/** How a delimited file is written. All signs are bytes of ASCII: they mean the same wherever they stand in UTF-8. */
export interface CsvDialect {
  /** null: a line is one value. */
  readonly delimiter: number | null
  /** Several delimiters in a row are one, as in columns that are aligned with spaces. */
  readonly isRun: boolean
  /** null: quotes are letters like others. */
  readonly quote: number | null
  /** Before a quote within quotes: the quote itself, or a backslash. */
  readonly escapedBy: number | null
  /** Spaces between a delimiter and a quote. */
  readonly skipsSpace: boolean
  /** `\n` (with or without `\r` before it) or `\r` alone. */
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
