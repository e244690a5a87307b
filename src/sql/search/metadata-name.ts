import { KNOWLEDGE_BASE_COLUMNS, type MetadataColumn } from '../../domain/knowledge-base.ts'
import { isSearchName } from './search-options.ts'

/**
 * The name that a metadata column has in the sub-query of its knowledge base: its own, or one that nobody writes where
 * its own means something else there (`distance`, `content`, `reranking`, …). `metadata.distance` is rewritten to it.
 */
export function metadataName({ name, column }: MetadataColumn): string {
  return isTakenName(name) ? `__metadata_${column}` : name
}

const SHOWN: ReadonlySet<string> = new Set(KNOWLEDGE_BASE_COLUMNS)

/** True for the names that mean something to a search, or are columns of every knowledge base. */
export function isTakenName(name: string): boolean {
  const key = name.toLowerCase()
  return SHOWN.has(key) || isSearchName(key)
}
