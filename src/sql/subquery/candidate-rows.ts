/** A search whose nearest chunks are known before its statement runs: they stand in for a scan of all. */
import { chunkTables } from '../../domain/chunk-tables.ts'
import { quote } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import {
  columnNames,
  constantTruth,
  isColumn,
  type TreeNode,
  type TreeValue,
  walk,
} from '../ast/select-ast.ts'
import { isThresholdOn, splitConditions } from '../search/predicate-pushdown.ts'
import { CHUNK_KEY, distanceColumn, fusedColumn, type Search } from '../search/ranking.ts'
import { CONDITIONS } from './hybrid-rows.ts'

/** The bound list of the keys of the nearest chunks. */
export function candidateKeysParameter(text: number): string {
  return `eider_candidates_${text}`
}

/** The bound list of their distances, in the same order. */
export function candidateDistancesParameter(text: number): string {
  return `eider_candidate_distances_${text}`
}

/** The bound list of their relevances, of a hybrid search. */
export function candidateRelevancesParameter(text: number): string {
  return `eider_candidate_relevances_${text}`
}

/**
 * The candidates with the cosine distance to the text as `__distance_<text>`, those of a hybrid search with their
 * relevance as `__fused_<text>` as well.
 */
export function candidateRows(kb: KnowledgeBase, text: number, isHybrid: boolean): string {
  const list = (parameter: string, type: string, name: string) => {
    return `unnest($${parameter}::${type}[]) AS ${name}`
  }
  const lists = [
    list(candidateKeysParameter(text), 'BIGINT', 'chunk_key'),
    list(candidateDistancesParameter(text), 'DOUBLE', distanceColumn(text)),
    ...(isHybrid ? [list(candidateRelevancesParameter(text), 'DOUBLE', fusedColumn(text))] : []),
  ]
  return `(SELECT c.*, n.* EXCLUDE (chunk_key) FROM (SELECT ${lists.join(', ')}) AS n
    JOIN ${chunkTables(kb).chunks} AS c USING (chunk_key))`
}

/** What candidates are to be found for. */
export interface CandidateSearch {
  readonly text: number
  /** Conditions that candidates must meet, over columns of the chunks; null: none. */
  readonly conditions: TreeNode | null
  /** What is farther than some distance is left out afterwards. */
  readonly isCutByDistance: boolean
}

/**
 * Whether the nearest chunks of one text are enough to answer a SELECT that needs its first rows only.
 * @returns the reason where they are not
 */
export function candidateSearchOf(
  search: Search,
  where: TreeValue,
  source: { readonly alias: string; readonly knowledgeBase: KnowledgeBase },
): CandidateSearch | string {
  const { ranking, exclusions } = search
  if (ranking?.kind !== 'text') return 'it searches for several texts'
  if (exclusions.length > 0) return 'it excludes a text'
  const { own, others } = splitConditions(where, source.alias, source.knowledgeBase)
  const isHarmless = (condition: TreeNode) => {
    return constantTruth(condition) === true || isThresholdOn(condition, source.alias)
  }
  if (!others.every(isHarmless)) return 'a condition is about more than the columns of its chunks'
  const isCutByDistance = others.some((condition) => namesColumn(condition, 'distance'))
  return { text: ranking.text, conditions: own, isCutByDistance }
}

function namesColumn(condition: TreeNode, name: string): boolean {
  return [...walk(condition)].some((node) => {
    return isColumn(node) && columnNames(node).at(-1)?.toLowerCase() === name
  })
}

/** A SELECT of the keys of the chunks that conditions keep, which `putConditions` then gets. */
export function keptKeysSql(
  kb: KnowledgeBase,
  { alias, columns }: { readonly alias: string; readonly columns: readonly string[] },
): string {
  const list = [`c.chunk_key AS ${CHUNK_KEY}`, ...columns].join(', ')
  return `SELECT ${CHUNK_KEY} FROM (SELECT ${list} FROM ${chunkTables(kb).chunks} AS c)
    AS ${quote(alias)} WHERE ${CONDITIONS}`
}
