import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { replace, type TreeNode } from '../ast/select-ast.ts'
import type { NameScope } from '../relation.ts'
import type { HybridSearch } from '../search/ranking.ts'

/** SQL still to be parsed and put into the tree. */
export interface TreeEdit {
  readonly sql: string
  /** Set for the SELECT of a view, a caller's own: it is to be checked and rewritten like any statement. */
  readonly view?: { readonly name: string; readonly names: NameScope }
  /** Another sub-query for the same place, see `CandidateEdit`. */
  readonly candidates?: CandidateEdit
  apply(parsed: TreeNode): void
}

/** What a hybrid search makes of the chunks that were found. */
export interface HybridEdit extends HybridSearch {
  /** So many of the first are enough; null: all that were found may be needed. */
  readonly firstCount: number | null
}

/** The same rows, where the nearest chunks of a text are known before the statement runs. */
export interface CandidateEdit {
  /** The number of the searched text. */
  readonly text: number
  readonly knowledgeBase: KnowledgeBase
  /** So many of the nearest are enough. */
  readonly count: number
  /** A SELECT of the keys of the chunks among which they are; null: all of them. */
  readonly kept: PrefilterEdit | null
  /** null: by vectors alone. */
  readonly hybrid: HybridEdit | null
  readonly rows: Subtree
}

export interface Subtree {
  readonly sql: string
  apply(parsed: TreeNode): void
}

export interface PrefilterEdit extends Subtree {
  /** False where its conditions read the clock. */
  readonly isCacheable: boolean
}

/** Puts a sub-query in the place of a table's name. */
export function putSubquery(ref: TreeNode, alias: string, subquery: TreeNode): void {
  const { sample = null, column_name_alias = [], query_location = null } = ref
  replace(ref, { type: 'SUBQUERY', alias, sample, query_location, subquery, column_name_alias })
}
