/**
 * What the `content` predicates of one SELECT ask for. Texts are counted over the whole statement: number i is the
 * bound vector `$eider_vector_i`, the bound list of words `$eider_terms_i`, and in a hybrid search the keys of terms
 * `$eider_keywords_i`, the phrases `$eider_phrases_i` and the weight `$eider_alpha_i`.
 */
import type { Fusion } from '../../domain/hybrid-search.ts'
import type { TreeNode } from '../ast/select-ast.ts'

export type Ranking =
  | { readonly kind: 'text'; readonly text: number }
  /** OR, IN: a chunk is as near as its nearest text. */
  | { readonly kind: 'nearest'; readonly of: readonly Ranking[] }
  /** AND: a chunk is as near as its farthest text. */
  | { readonly kind: 'farthest'; readonly of: readonly Ranking[] }
  /** `content = t.column`: another text in each row, see column-search.ts. Stands alone, never within another. */
  | ColumnRanking

export interface ColumnRanking {
  readonly kind: 'column'
  readonly text: number
  readonly operand: TreeNode
}

/** Texts that a chunk must not be about: the column `__excluded_<index>` says whether it is. */
export interface Exclusion {
  readonly index: number
  readonly texts: readonly number[]
}

/** A search by vectors and keywords together. */
export interface HybridSearch {
  /** The weight of the vectors, 0 to 1; null: as suits the text. */
  readonly alpha: number | null
  readonly fusion: Fusion
}

export interface Search {
  readonly ranking: Ranking | null
  readonly exclusions: readonly Exclusion[]
  /** null: by vectors alone. */
  readonly hybrid: HybridSearch | null
  /** False with `reranking = false`. */
  readonly isReranked: boolean
}

export function vectorParameter(text: number): string {
  return `eider_vector_${text}`
}

export function termsParameter(text: number): string {
  return `eider_terms_${text}`
}

/** The keys of the text's terms in the keyword index. */
export function keywordsParameter(text: number): string {
  return `eider_keywords_${text}`
}

/** What a chunk must hold word for word to have a keyword score. The first is empty: a list without items has no type. */
export function phrasesParameter(text: number): string {
  return `eider_phrases_${text}`
}

/** The weight of the vectors where the statement names none. */
export function alphaParameter(text: number): string {
  return `eider_alpha_${text}`
}

/** A chunk's key, where a statement of ours needs it: DELETE, UPDATE and the join with the wide rows. */
export const CHUNK_KEY = '__chunk_key'

/** The cosine distance to a text. */
export function distanceColumn(text: number): string {
  return `__distance_${text}`
}

/** The relevance to a text by vectors and keywords. */
export function fusedColumn(text: number): string {
  return `__fused_${text}`
}

export function excludedColumn(index: number): string {
  return `__excluded_${index}`
}

export function joined(kind: 'nearest' | 'farthest', parts: readonly Ranking[]): Ranking | null {
  const [first, ...others] = parts
  if (first === undefined) return null
  return others.length === 0 ? first : { kind, of: parts }
}

export function textsOfRanking(ranking: Ranking | null): readonly number[] {
  if (ranking === null) return []
  if (ranking.kind === 'column') return []
  return ranking.kind === 'text' ? [ranking.text] : ranking.of.flatMap(textsOfRanking)
}

/** The lower-cased words of a text, as `NOT content = '…'` looks for them. */
export function termsOf(text: string): readonly string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])]
}
