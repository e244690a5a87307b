/**
 * A statement's reads of a remote database, as data that is passed between threads and stored with
 * the plan.
 */
import type {
  DataSource,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'

/** A data source without its secrets. */
export type SourceRef = Pick<DataSource, 'id' | 'name' | 'engine'>

export type SourceFrom =
  | { readonly kind: 'table'; readonly table: SourceTableName }
  /** A client's SELECT in the source's own SQL. */
  | { readonly kind: 'native'; readonly sql: string }

export interface SourceRead {
  /** The name for its rows in the statement, until they arrive. */
  readonly placeholder: string
  readonly source: SourceRef
  readonly from: SourceFrom
  /** The columns that the statement uses. If empty, only the number of rows matters. */
  readonly columns: readonly SourceColumn[]
  /** On this table alone. Rows that do not meet them do not matter. */
  readonly condition: SourceCondition
  /** Set if only some of the matching rows are needed. */
  readonly slice: SourceSlice | null
  /** Set if the source groups its rows. `columns` are then the keys, followed by the totals. */
  readonly groups: SourceGroups | null
}

export interface SourceGroups {
  readonly keys: readonly SourceColumn[]
  readonly totals: readonly SourceTotal[]
}

export interface SourceTotal {
  readonly kind: 'rows' | 'count' | 'sum' | 'min' | 'max'
  readonly column: SourceColumn | null
  readonly isDistinct: boolean
}

/** The first rows in an order. */
export interface SourceSlice {
  readonly order: readonly SourceOrder[]
  readonly limit: Operand | null
  readonly offset: Operand | null
}

export interface SourceOrder {
  readonly column: SourceColumn
  readonly isDescending: boolean
  readonly nullsFirst: boolean
}

export type CompareOperator = '=' | '<>' | '<' | '<=' | '>' | '>='

export type SourceCondition =
  | {
      readonly kind: 'compare'
      readonly column: SourceColumn
      readonly operator: CompareOperator
      readonly value: Operand
    }
  | {
      readonly kind: 'in'
      readonly column: SourceColumn
      readonly values: readonly Operand[]
      readonly isNegated: boolean
    }
  | { readonly kind: 'null'; readonly column: SourceColumn; readonly isNegated: boolean }
  | {
      readonly kind: 'like'
      readonly column: SourceColumn
      readonly pattern: Operand
      readonly isNegated: boolean
    }
  | { readonly kind: 'truth'; readonly column: SourceColumn }
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly SourceCondition[] }
  /** `certain` turns unknown into false. */
  | { readonly kind: 'not' | 'certain'; readonly condition: SourceCondition }
  | { readonly kind: 'in_list'; readonly column: SourceColumn; readonly list: Operand }
  /** Anything that is left to DuckDB. */
  | { readonly kind: 'other' }

/** A value in a condition, with its type as written. */
export type Operand =
  /** `cast` is the DuckDB type that it is cast to, if any. */
  | { readonly kind: 'parameter'; readonly name: string; readonly cast?: string }
  | { readonly kind: 'text'; readonly text: string }
  /** Digits with an optional sign, for an integer or decimal. */
  | { readonly kind: 'number'; readonly digits: string }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'truth'; readonly value: boolean }
  | { readonly kind: 'date' | 'timestamp' | 'timestamptz'; readonly text: string }
  /** A time at most this long ago. */
  | { readonly kind: 'since'; readonly ageMs: number }

export const EVERY_ROW: SourceCondition = { kind: 'and', conditions: [] }

/** Random, so that users cannot write the same name. */
export function newPlaceholder(): string {
  return `eider_source_${crypto.randomUUID().replaceAll('-', '')}`
}
