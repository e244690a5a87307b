import { quote } from '../../domain/identifier.ts'
import type { KnowledgeBase, MetadataType } from '../../domain/knowledge-base.ts'
import { isTakenName } from '../../sql/search/metadata-name.ts'

/** A column of chunks as a filter may name it. */
export interface FilterColumn {
  /** As it is written in a filter. */
  readonly name: string
  readonly sql: string
  /** null: no row with a value has come yet. */
  readonly type: MetadataType | null
}

/** Before the name of a metadata column that means something else alone: `metadata.or`, `metadata.distance`. */
export const METADATA_PREFIX = 'metadata.'

/**
 * The columns by each name that a filter may give them, in lower case: a metadata column has two, `price` and
 * `metadata.price`, or the longer one alone.
 */
export function filterColumns(kb: KnowledgeBase): ReadonlyMap<string, FilterColumn> {
  const columns = new Map<string, FilterColumn>()
  const add = (key: string, column: FilterColumn) => {
    if (!columns.has(key)) columns.set(key, column)
  }
  for (const name of OWN) columns.set(name, { name, sql: name, type: 'VARCHAR' })
  const metadata = metadataOf(kb).map(({ name, type }) => {
    const isOperator = ['and', 'or', 'not'].includes(name.toLowerCase())
    const isPlain = !isTakenName(name) && !isOperator
    const sql = isTakenName(name) ? `metadata.${quote(name)}` : quote(name)
    return { key: name.toLowerCase(), isPlain, column: { sql, type, name } }
  })
  // First these: what begins with the prefix always means the column behind it, where there is one.
  for (const { key, isPlain, column } of metadata) {
    const name = isPlain ? column.name : `${METADATA_PREFIX}${column.name}`
    add(`${METADATA_PREFIX}${key}`, { ...column, name })
  }
  for (const { key, isPlain, column } of metadata) if (isPlain) add(key, column)
  return columns
}

const OWN = ['id', 'chunk_id', 'chunk_content'] as const

interface NamedType {
  readonly name: string
  readonly type: MetadataType | null
}

function metadataOf(kb: KnowledgeBase): readonly NamedType[] {
  const declared = (kb.metadataColumns ?? []).map((name) => ({ name, type: null }))
  return [...kb.storedMetadata, ...declared]
}
