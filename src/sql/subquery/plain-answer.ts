/**
 * Recognizes results that need no statement: the rows of a search's nearest chunks, or of one
 * document.
 */
import { KNOWLEDGE_BASE_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import {
  conjunctsOf,
  isColumn,
  isNode,
  nodesOf,
  type TreeNode,
  textValue,
} from '../ast/select-ast.ts'
import { isPlainStar, isRenaming } from '../pushdown/select-shape.ts'
import { wordOf } from '../search/memory-condition.ts'
import type { DocumentAnswer, PlainAnswer, PlainColumn } from '../search/plan-inputs.ts'
import { type Threshold, thresholdOf } from '../search/predicate-pushdown.ts'
import { metadataName, ownColumnName } from '../search/search-options.ts'
import { countedLimitOf, isLimited, nearestCountOf } from '../search/top-k.ts'

/**
 * @param select one whose nearest chunks are its answer (see `candidateSearchOf` and
 * `nearestCountOf`), before anything is inserted; its conditions are checked when the chunks are
 * found
 * @returns null for a SELECT that shows more than columns of its chunks
 */
export function plainAnswerOf(
  select: TreeNode,
  source: { readonly alias: string; readonly knowledgeBase: KnowledgeBase; readonly ref: TreeNode },
  isHybrid: boolean,
): PlainAnswer | null {
  const limit = countedLimitOf(select)
  const hasCtes = isNode(select.cte_map) && nodesOf(select.cte_map.map).length > 0
  if (limit === null || hasCtes || isRenaming(source.ref)) return null
  const metadataColumns: string[] = []
  const columns: PlainColumn[] = []
  for (const item of nodesOf(select.select_list)) {
    const shown = isOwnStar(item, source.alias)
      ? KNOWLEDGE_BASE_COLUMNS
      : plainColumn(item, source, metadataColumns)
    if (shown === null) return null
    columns.push(...shown)
  }
  const thresholds: Threshold[] = []
  for (const condition of conjunctsOf(select.where_clause ?? null)) {
    const threshold = thresholdOf(condition, source.alias)
    if (threshold === null) continue
    thresholds.push(threshold)
  }
  return { columns, metadataColumns, thresholds, ...limit, isHybrid }
}

const FIXED: ReadonlyMap<string, PlainColumn> = new Map([
  ...KNOWLEDGE_BASE_COLUMNS.map((name) => [name, name] as const),
  ['content', 'chunk_content'],
])

/** Recognizes `*` and `alias.*` without modifiers. */
function isOwnStar(item: TreeNode, alias: string): boolean {
  const relation = textValue(item.relation_name).toLowerCase()
  return isPlainStar(item) && (relation === '' || relation === alias.toLowerCase())
}

function plainColumn(
  item: TreeNode,
  { alias, knowledgeBase }: { readonly alias: string; readonly knowledgeBase: KnowledgeBase },
  metadataColumns: string[],
): readonly PlainColumn[] | null {
  if (!isColumn(item)) return null
  const name = ownColumnName(item, { alias, isOnly: true })
  if (name === undefined) return null
  const fixed = FIXED.get(name)
  if (fixed !== undefined) return [fixed]
  const stored = knowledgeBase.storedMetadata.find((column) => {
    return metadataName(column).toLowerCase() === name
  })
  if (stored !== undefined) {
    const known = metadataColumns.indexOf(stored.column)
    const metadataColumn = known === -1 ? metadataColumns.push(stored.column) - 1 : known
    return [{ metadataColumn }]
  }
  const declared = knowledgeBase.metadataColumns ?? []
  const isDeclared = declared.some((one) => one.toLowerCase() === name)
  return isDeclared ? [{ metadataColumn: null }] : null
}

/** Null for a SELECT that does more than show the chunks of one document. */
export function documentAnswerOf(
  select: TreeNode,
  source: { readonly alias: string; readonly knowledgeBase: KnowledgeBase; readonly ref: TreeNode },
): DocumentAnswer | null {
  const { left, right } = isNode(select.where_clause) ? select.where_clause : {}
  const isEqual = isNode(select.where_clause) && select.where_clause.type === 'COMPARE_EQUAL'
  const isPlain = select.from_table === source.ref && nearestCountOf(select, 'outermost') !== null
  if (!isEqual || !isPlain || !isNode(left) || !isNode(right)) return null
  if (ownColumnName(left, { alias: source.alias, isOnly: true }) !== 'id') return null
  const id = wordOf(right)
  const plain = id && plainAnswerOf(select, source, false)
  if (id === null || plain === null) return null
  const limit = isLimited(select) ? plain.limit : Number.POSITIVE_INFINITY
  return { knowledgeBase: source.knowledgeBase, id, plain: { ...plain, limit } }
}
