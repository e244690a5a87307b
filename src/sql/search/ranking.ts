/**
 * What the `content` predicates of one SELECT mean. Search texts are numbered over the whole
 * statement, from 0.
 */
import type { SearchDefaults } from '../../core/domain/hybrid-search.ts'
import { AppError } from '../../core/errors.ts'
import type { TreeNode } from '../ast/select-ast.ts'

export type Ranking =
  | { readonly kind: 'text'; readonly textIndex: number }
  /** OR, IN: a chunk's distance is that to its nearest text. */
  | { readonly kind: 'nearest'; readonly parts: readonly Ranking[] }
  /** AND: a chunk's distance is that to its farthest text. */
  | { readonly kind: 'farthest'; readonly parts: readonly Ranking[] }
  /** A branch of an OR. It counts only if the branch's other conditions are true. */
  | BranchRanking
  /** A different text in each row, see lateral-search.ts. Never part of another ranking. */
  | LateralRanking

export interface BranchRanking {
  readonly kind: 'branch'
  /** Over columns of the chunks, as the statement names them. */
  readonly condition: TreeNode
  /** Whether the condition is about a text that chunks must not match. */
  readonly isOnExclusion: boolean
  readonly part: Ranking
}

export interface LateralRanking {
  readonly kind: 'lateral'
  readonly textIndex: number
  readonly operand: TreeNode
}

/** Texts that a chunk must not match. The column `__excluded_<index>` is true if it matches one. */
export interface Exclusion {
  readonly index: number
  readonly textIndexes: readonly number[]
}

export type HybridSearch = Omit<SearchDefaults, 'isHybrid'>

export interface Search {
  readonly ranking: Ranking | null
  readonly exclusions: readonly Exclusion[]
  /** Null: by vectors alone. */
  readonly hybrid: HybridSearch | null
  /** False with `reranking = false`. */
  readonly isReranked: boolean
  /** Whether to leave out nodes that cannot be reached. */
  readonly allowsPartial: boolean
}

/** A chunk's key, for Eider's own statements: DELETE, UPDATE and the join with the full rows. */
export const CHUNK_KEY = '__chunk_key'

export function distanceColumn(textIndex: number): string {
  return `__distance_${textIndex}`
}

/** The column with the relevance to a text by vectors and keywords. */
export function fusedColumn(textIndex: number): string {
  return `__fused_${textIndex}`
}

export function excludedColumn(index: number): string {
  return `__excluded_${index}`
}

export function combinedRanking(
  kind: 'nearest' | 'farthest',
  parts: readonly Ranking[],
): Ranking | null {
  const [first, ...others] = parts
  if (first === undefined) return null
  return others.length === 0 ? first : { kind, parts }
}

/** Returns the search texts that a ranking wants; a lateral ranking has none. */
export function textIndexesOf(ranking: Ranking | null): readonly number[] {
  if (ranking === null || ranking.kind === 'lateral') return []
  if (ranking.kind === 'branch') return textIndexesOf(ranking.part)
  return ranking.kind === 'text' ? [ranking.textIndex] : ranking.parts.flatMap(textIndexesOf)
}

/** Returns the wanted and unwanted search texts, without duplicates. */
export function allTextIndexes({ ranking, exclusions }: Search): readonly number[] {
  const excluded = exclusions.flatMap(({ textIndexes }) => textIndexes)
  return [...new Set([...textIndexesOf(ranking), ...excluded])]
}

/** @throws AppError `sql_not_supported` if it is combined with other texts */
export function lateralRankingOf({ ranking, exclusions, hybrid }: Search): LateralRanking | null {
  const lateral = lateralIn(ranking)
  if (lateral !== null && hybrid !== null) {
    throw new AppError('sql_not_supported', 'hybrid_search goes with texts, not with a column')
  }
  if (lateral === null || (lateral === ranking && exclusions.length === 0)) return lateral
  const message = 'content is compared with a column or with texts, not with both in one search'
  throw new AppError('sql_not_supported', message)
}

function lateralIn(ranking: Ranking | null): LateralRanking | null {
  if (ranking === null || ranking.kind === 'text') return null
  if (ranking.kind === 'lateral') return ranking
  if (ranking.kind === 'branch') return lateralIn(ranking.part)
  return ranking.parts.map(lateralIn).find((part) => part !== null) ?? null
}

/** DuckDB cannot be interrupted while it looks for them in two thousand chunks. */
const EXCLUDED_WORDS_MAX = 256

/** Returns the first distinct words of a text in lower case, for `NOT content = '…'`. */
export function distinctWords(text: string): readonly string[] {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
  return [...words].slice(0, EXCLUDED_WORDS_MAX)
}
