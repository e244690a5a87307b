/** The columns of a knowledge base, as its SELECT names them. */
import {
  KNOWLEDGE_BASE_COLUMNS,
  type KnowledgeBase,
  type MetadataColumn,
} from '../../core/domain/knowledge-base.ts'
import { columnNames, isColumn, type TreeNode } from '../ast/select-ast.ts'
import { isSearchName } from './search-options.ts'

/** One knowledge base of a FROM, as its SELECT sees it. */
export interface SearchSource {
  readonly alias: string
  /** True when a column without a qualifier belongs to this source. */
  readonly isOnly: boolean
}

/** `price` for `price`, `k.price` and `K.Price`; undefined for anything that is not a column of this source. */
export function ownColumnName(
  node: TreeNode | undefined,
  { alias, isOnly }: SearchSource,
): string | undefined {
  if (!isColumn(node)) return undefined
  const names = columnNames(node).map((name) => name.toLowerCase())
  const isOwn = names.length === 1 ? isOnly : names.length === 2 && names[0] === alias.toLowerCase()
  return isOwn ? names.at(-1) : undefined
}

/** The columns of its chunks that a condition may name, in lower case. */
export function chunkColumnNames(kb: KnowledgeBase): ReadonlySet<string> {
  const stored = kb.storedMetadata.flatMap((column) => [column.name, metadataName(column)])
  const names = [...stored, ...(kb.metadataColumns ?? [])]
  const plain = ['id', 'chunk_id', 'chunk_content', 'metadata', ...ownIdNames(kb)]
  const measures = new Set(['relevance', 'distance'])
  return new Set(
    [...plain, ...names.map((name) => name.toLowerCase())].filter((name) => !measures.has(name)),
  )
}

/** The other name of `id`, in lower case: that of the knowledge base's own id column, unless it is also a metadata column. */
export function ownIdNames({ idColumn, storedMetadata }: KnowledgeBase): readonly string[] {
  const key = idColumn?.toLowerCase()
  if (key === undefined || isTakenName(key)) return []
  return storedMetadata.some(({ name }) => name.toLowerCase() === key) ? [] : [key]
}

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
