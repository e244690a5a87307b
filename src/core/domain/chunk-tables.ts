import { quote } from './identifier.ts'

/** The schema of DuckDB that holds a project's tables. Names of callers never become names of tables. */
export function projectSchema(projectId: number): string {
  return `project_${projectId}`
}

/** The schema that holds the rows of uploaded files, and a file's tables in it. */
export const FILES_SCHEMA = 'uploaded'

/** @param index of a sheet; 0: the first, or the only table */
export function fileTable(fileId: number, index = 0): string {
  return index === 0 ? `file_${fileId}` : `file_${fileId}_${index + 1}`
}

/** What the names of a knowledge base's tables are made of. */
export interface TableIds {
  readonly projectId: number
  readonly id: number
  /** Vectors of another model lie in a table of another number. */
  readonly vectorsNumber: number
  /** Set for the keyword index that is being made, beside the one that searches read. */
  readonly isNextKeywordIndex?: boolean
}

/** The same knowledge base, with the tables of the keyword index that is being made for it. */
export function withNextKeywords({ projectId, id, vectorsNumber }: TableIds): TableIds {
  return { projectId, id, vectorsNumber, isNextKeywordIndex: true }
}

/** The tables as they will be once the vectors of the next model are complete. */
export function withNextVectors({ projectId, id, vectorsNumber }: TableIds): TableIds {
  return { projectId, id, vectorsNumber: vectorsNumber + 1 }
}

/** Quoted full names of a knowledge base's tables, joined by `chunk_key`. */
export interface ChunkTables {
  /** `chunk_key, document_id, chunk_id, chunk_content, metadata`, then the typed metadata columns. */
  readonly chunks: string
  /** `chunk_key, vector FLOAT[dimensions]`: missing until the number of dimensions is known. */
  readonly vectors: string
  /**
   * `term, chunk_key, frequency, term_count`: how often a term stands among the terms of a chunk. In the order of the
   * terms, so that few blocks hold a term's rows.
   */
  readonly postings: string
  /** The same of the chunks that came since the postings were last sorted, in the order in which they came. */
  readonly recentPostings: string
  /** `chunk_key, term_count`: one row for each chunk. */
  readonly termCounts: string
  /**
   * `chunk_key, context, is_cut, layout`: what is embedded before a chunk, whether the embedding model does not read it
   * whole, and with the first chunk of a text how that text is laid out. Only of chunks of which there is something to say.
   */
  readonly contexts: string
}

export function chunkTables(ids: TableIds): ChunkTables {
  const schema = quote(projectSchema(ids.projectId))
  const table = (part: ChunkTablePart) => `${schema}.${quote(chunkTableName(ids, part))}`
  return {
    chunks: table('chunks'),
    vectors: table('vectors'),
    postings: table('postings'),
    recentPostings: table('recent_postings'),
    termCounts: table('term_counts'),
    contexts: table('contexts'),
  }
}

export type ChunkTablePart =
  | 'chunks'
  | 'vectors'
  | 'postings'
  | 'recent_postings'
  | 'term_counts'
  | 'contexts'

const KEYWORD_PARTS: ReadonlySet<ChunkTablePart> = new Set([
  'postings',
  'recent_postings',
  'term_counts',
])

export function chunkTableName(
  { id, vectorsNumber, isNextKeywordIndex }: Omit<TableIds, 'projectId'>,
  part: ChunkTablePart,
): string {
  const next = isNextKeywordIndex === true && KEYWORD_PARTS.has(part) ? 'next_' : ''
  const number = part === 'vectors' && vectorsNumber > 0 ? `_${vectorsNumber}` : ''
  return `${knowledgeBaseTablePrefix({ id })}${next}${part}${number}`
}

/** How the names of all tables of a knowledge base begin. */
export function knowledgeBaseTablePrefix({ id }: Pick<TableIds, 'id'>): string {
  return `kb_${id}_`
}

/** The table in a project's schema that holds the rows of a `ProjectTable`. */
export function projectTable(tableId: number): string {
  return `table_${tableId}`
}
