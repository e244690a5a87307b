/**
 * What the `content` predicates of one SELECT ask for. Texts are counted over the whole statement: number i is the
 * bound vector `$eider_vector_i` and the bound list of terms `$eider_terms_i`.
 */
import type { TreeNode } from './select-ast.ts'

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

export interface Search {
  readonly ranking: Ranking | null
  readonly exclusions: readonly Exclusion[]
}

export function vectorParameter(text: number): string {
  return `eider_vector_${text}`
}

export function termsParameter(text: number): string {
  return `eider_terms_${text}`
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
