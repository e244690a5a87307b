import { type Options, type QualifiedName, qualifiedName } from './qualified-name.ts'
import type { StatementReader } from './statement-reader.ts'

/** A column and the SQL of its new value. */
export interface Assignment {
  readonly column: string
  readonly value: string
}

/** Statements over the rows of a knowledge base. */
export type RowStatement =
  | {
      readonly kind: 'insert'
      readonly into: QualifiedName
      /** null: the names of the source's columns. */
      readonly columns: readonly string[] | null
      /** `VALUES …` or a SELECT, as it was written. */
      readonly source: string
      readonly options: Options
    }
  | {
      readonly kind: 'update'
      readonly table: QualifiedName
      readonly assignments: readonly Assignment[]
      /** The SQL of its condition. */
      readonly where: string | null
    }
  | { readonly kind: 'delete'; readonly from: QualifiedName; readonly where: string | null }

const WHAT = 'a knowledge base'

export function rowStatement(read: StatementReader): RowStatement | undefined {
  if (read.takeWords('delete', 'from')) {
    const from = qualifiedName(read, WHAT)
    return { kind: 'delete', from, where: read.takeWords('where') ? read.rest() : null }
  }
  return undefined
}
