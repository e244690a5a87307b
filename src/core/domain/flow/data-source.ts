/** A database elsewhere, or a file of one, whose tables SQL reads as `<data source>.<table>`. */
export interface DataSource {
  readonly id: number
  readonly name: string
  readonly engine: DataSourceEngine
  /** As they were given, their names in lower case. Holds secrets in clear: answers show `******` for them. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

export type DataSourceDraft = Pick<DataSource, 'name' | 'engine' | 'parameters'>

export type DataSourceChanges = Partial<Pick<DataSource, 'engine' | 'parameters'>>

/** MariaDB is a `mysql`. */
export type DataSourceEngine = 'postgres' | 'mysql' | 'sqlite' | 'duckdb'

export interface SourceTableName {
  /** null: the one that the source looks in first, or that it has no schemas. */
  readonly schema: string | null
  readonly name: string
}

export interface SourceTable extends SourceTableName {
  readonly kind: 'table' | 'view'
}

export interface DescribedSourceTable extends SourceTable {
  readonly columns: readonly SourceColumn[]
}

export interface SourceColumn {
  readonly name: string
  /** DuckDB's name of the type that its values get here. */
  readonly type: string
  /** The source's own name of its type. */
  readonly nativeType: string
  readonly isNullable: boolean
}
