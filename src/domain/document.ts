/** A value that can stand in a row: what JSON can say. */
export type RowValue =
  | null
  | boolean
  | number
  | string
  | readonly RowValue[]
  | { readonly [key: string]: RowValue }

/** What a source yields: column name → value. */
export type Row = Readonly<Record<string, RowValue>>

/** One text of a document: a content column and what it holds. */
export interface DocumentText {
  readonly column: string
  readonly text: string
  /** Missing: of a row, of which nothing is known. */
  readonly layout?: TextLayout
}

/** How a text is laid out, where that is known. Chunking follows it. */
export interface TextLayout {
  readonly title: string | null
  readonly syntax: TextSyntax
  readonly parts: TextParts | null
}

export type TextSyntax = 'text' | 'markdown' | 'code'

/** Pages, slides or chapters of a text. */
export interface TextParts {
  readonly unit: 'page' | 'slide' | 'chapter' | 'cell'
  /** Where each begins in the text, in code units, rising; its number is its index plus 1. */
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
