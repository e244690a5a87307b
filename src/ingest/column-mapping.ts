import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../domain/knowledge-base.ts'

/** What the columns of a row are to a knowledge base (decisions.md 5). Names are compared without case. */
export interface ColumnMapping {
  readonly contentColumns: readonly string[]
  /** null: every column that is neither the id nor content. */
  readonly metadataColumns: readonly string[] | null
  /** Looked for in this order. */
  readonly idColumns: readonly string[]
}

export const ID_COLUMN = 'id'

export function columnMappingOf(kb: KnowledgeBase): ColumnMapping {
  const hasOwnId = kb.idColumn !== null && kb.idColumn.toLowerCase() !== ID_COLUMN
  return {
    contentColumns: kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS,
    metadataColumns: kb.metadataColumns,
    idColumns: hasOwnId && kb.idColumn !== null ? [kb.idColumn, ID_COLUMN] : [ID_COLUMN],
  }
}

/** The column of that name as it is written among `columns`: exactly so, else without case. */
export function findColumn(columns: readonly string[], name: string): string | undefined {
  if (columns.includes(name)) return name
  const key = name.toLowerCase()
  return columns.find((column) => column.toLowerCase() === key)
}
