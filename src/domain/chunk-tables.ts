import { quote } from './identifier.ts'

/** The schema of DuckDB that holds a project's tables. Names of callers never become names of tables. */
export function projectSchema(projectId: number): string {
  return `project_${projectId}`
}

/** The schema that holds the rows of uploaded files, and a file's table in it. */
export const FILES_SCHEMA = 'uploaded'

export function fileTable(fileId: number): string {
  return `file_${fileId}`
}

/** Quoted full names of a knowledge base's two tables, joined by `chunk_key`. */
export interface ChunkTables {
  /** `chunk_key, document_id, chunk_id, chunk_content, metadata`, then the typed metadata columns. */
  readonly chunks: string
  /** `chunk_key, vector FLOAT[dimensions]`: missing until the number of dimensions is known. */
  readonly vectors: string
}

export function chunkTables(ids: { readonly projectId: number; readonly id: number }): ChunkTables {
  const schema = quote(projectSchema(ids.projectId))
  return {
    chunks: `${schema}.${quote(`kb_${ids.id}_chunks`)}`,
    vectors: `${schema}.${quote(`kb_${ids.id}_vectors`)}`,
  }
}

/** The table in a project's schema that holds the rows of a `ProjectTable`. */
export function projectTable(tableId: number): string {
  return `table_${tableId}`
}
