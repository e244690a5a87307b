/** A SELECT with a name. Its names are resolved each time it is read. */
export interface View {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  /** One SELECT, as it was written. */
  readonly sql: string
  /** The project of names without a qualifier in it, or `files`: `context.db` of the statement that made it. */
  readonly database: string
  /** As they were when it was made or changed. */
  readonly columns: readonly RelationColumn[]
  readonly createdAt: string
  readonly updatedAt: string
}

/** A column of a view or table and DuckDB's name of its type. */
export interface RelationColumn {
  readonly name: string
  readonly type: string
}

export type ViewDraft = Omit<View, 'id' | 'projectName' | 'createdAt' | 'updatedAt'>

export type ViewChanges = Pick<ViewDraft, 'sql' | 'database' | 'columns'>
