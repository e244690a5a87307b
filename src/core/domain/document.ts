/** A value in a row: anything JSON can express. */
export type RowValue =
  | null
  | boolean
  | number
  | string
  | readonly RowValue[]
  | { readonly [key: string]: RowValue }

/**
 * A value of a type that JSON does not have, exactly as its source holds it: only the store looks into `exact`. As JSON it
 * is what an answer shows.
 */
export class TypedValue {
  /** As `typeText` writes it. */
  readonly type: string
  readonly shown: RowValue
  readonly exact: unknown

  constructor(type: string, shown: RowValue, exact: unknown) {
    this.type = type
    this.shown = shown
    this.exact = exact
  }

  toJSON(): RowValue {
    return this.shown
  }
}

/** A value of a row: a JSON value, or one with a type. */
export type CellValue = RowValue | TypedValue

/** The value as JSON says it. */
export function shownValue(value: CellValue): RowValue {
  return value instanceof TypedValue ? value.shown : value
}

/** A row from a source: column name → value. */
export type Row = Readonly<Record<string, CellValue>>

/** One text of a document: a content column and what it holds. */
export interface DocumentText {
  readonly column: string
  readonly text: string
  /** Missing: a row without a known layout. */
  readonly layout?: TextLayout
}

/** The layout of a text, if known. Chunking follows it. */
export interface TextLayout {
  readonly title: string | null
  readonly syntax: TextSyntax
  readonly parts: TextParts | null
}

export type TextSyntax = 'text' | 'markdown' | 'code'

/** Pages, slides or chapters of a text. */
export interface TextParts {
  readonly unit: 'page' | 'slide' | 'chapter' | 'cell'
  /** The start of each in the text, in code units, ascending; its number is its index plus 1. */
  readonly starts: readonly number[]
}

/** One inserted row, file or page, ready to be cut into chunks. */
export interface Document {
  readonly id: string
  /** Position of the row in its insert, from 0. */
  readonly rowIndex: number
  readonly texts: readonly DocumentText[]
  readonly metadata: Row
}

/** Longer strings in one cell are refused: a chunk id would have to count a million chunks. */
export const CELL_CHARS_MAX = 100_000_000
