import type { RelationColumn } from './view.ts'

/** A table of a project, made by `CREATE TABLE … AS`. Its rows lie in a table of DuckDB, see chunk-tables.ts. */
export interface ProjectTable {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
  readonly createdAt: string
}
