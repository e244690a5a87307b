/** Under OR a text counts only for the rows for which the other conditions of its branch hold. */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import {
  columnNames,
  columnNode,
  constantTruth,
  copyOf,
  isColumn,
  nodesOf,
  notNode,
  nullNode,
  replace,
  type TreeNode,
  walk,
} from '../ast/select-ast.ts'
import { isVolatile } from '../guard/stability.ts'
import { conjunctionOf } from './predicate-pushdown.ts'
import type { BranchRanking, Ranking } from './ranking.ts'
import { metadataName, ownColumnName, type SearchSource } from './source-columns.ts'

/** What the conditions of a branch may name. */
export interface BranchSource extends SearchSource {
  /** The columns of the chunks, in lower case. */
  readonly columns: ReadonlySet<string>
}

/**
 * The ranking of one branch. A condition on `relevance` or `distance` is about what the whole search gives the row, so that
 * it decides on the row and not on a text.
 * @param branch after its search was taken out
 * @param isNegated whether the branch is that of an AND within NOT: it holds where this does not
 * @throws AppError `sql_not_supported` for a condition that cannot be checked on the row alone
 */
export function rankingWithin(
  ranking: Ranking,
  { branch, isNegated }: { readonly branch: TreeNode; readonly isNegated: boolean },
  source: BranchSource,
): Ranking {
  const parts = conjuncts(branch, isNegated).filter((part) => {
    return !alwaysHolds(part) && !ownColumnsIn(part, source).some((name) => MEASURES.has(name))
  })
  if (parts.length === 0) return ranking
  if (ranking.kind === 'lateral' || !parts.every((part) => isOnRowAlone(part, source))) {
    const what = 'columns of its knowledge base alone, and not beside a column as the text'
    const message = `Under OR, a condition beside content = '…' is about ${what}`
    throw new AppError('sql_not_supported', message)
  }
  const isOnExclusion = (part: TreeNode) => ownColumnsIn(part, source).some(isExclusion)
  const plain = conjunctionOf(parts.filter((part) => !isOnExclusion(part)))
  const excluding = conjunctionOf(parts.filter(isOnExclusion))
  const within: Ranking =
    plain === null
      ? ranking
      : { kind: 'branch', condition: plain, isOnExclusion: false, part: ranking }
  if (excluding === null) return within
  return { kind: 'branch', condition: excluding, isOnExclusion: true, part: within }
}

const MEASURES: ReadonlySet<string> = new Set(['relevance', 'distance'])

function isExclusion(name: string): boolean {
  return name.startsWith('__excluded_')
}

/** The conditions that must all hold. */
function conjuncts(node: TreeNode, isNegated: boolean): readonly TreeNode[] {
  const children = nodesOf(node.children)
  if (node.type === 'OPERATOR_NOT') return children.flatMap((child) => conjuncts(child, !isNegated))
  if (node.type === (isNegated ? 'CONJUNCTION_OR' : 'CONJUNCTION_AND')) {
    return children.flatMap((child) => conjuncts(child, isNegated))
  }
  return [isNegated ? notNode(node) : node]
}

function alwaysHolds(node: TreeNode): boolean {
  const children = nodesOf(node.children)
  if (node.type === 'CONJUNCTION_OR') return children.some(alwaysHolds)
  if (node.type === 'CONJUNCTION_AND') return children.every(alwaysHolds)
  if (node.type === 'OPERATOR_NOT') return children.some((child) => constantTruth(child) === false)
  return constantTruth(node) === true
}

/** Of the columns of this source. */
function ownColumnsIn(condition: TreeNode, source: SearchSource): readonly string[] {
  return [...walk(condition)].flatMap((node) => ownColumnName(node, source) ?? [])
}

function isOnRowAlone(condition: TreeNode, source: BranchSource): boolean {
  if (isVolatile(condition)) return false
  return [...walk(condition)].every((node) => {
    if (node.class === 'SUBQUERY' || node.class === 'STAR' || node.class === 'WINDOW') return false
    const name = ownColumnName(node, source) ?? ''
    return !isColumn(node) || source.columns.has(name) || isExclusion(name)
  })
}

/** The branches of a ranking, each before those within it. */
export function branchesOf(ranking: Ranking | null): readonly BranchRanking[] {
  if (ranking === null || ranking.kind === 'text' || ranking.kind === 'lateral') return []
  if (ranking.kind === 'branch') return [ranking, ...branchesOf(ranking.part)]
  return ranking.parts.flatMap(branchesOf)
}

/** The column that stands for a branch's condition in SQL of ours, over the chunks `c`. */
export function branchColumn(branchIndex: number): string {
  return `__branch_${branchIndex}`
}

/** Puts the conditions into a tree that holds their columns. */
export function putBranches(
  tree: TreeNode,
  branches: readonly BranchRanking[],
  { knowledgeBase, ...source }: SearchSource & { readonly knowledgeBase: KnowledgeBase },
): void {
  if (branches.length === 0) return
  const byColumn = new Map(
    branches.map(({ condition }, index) => [branchColumn(index), condition] as const),
  )
  for (const node of [...walk(tree)]) {
    const condition = isColumn(node) ? byColumn.get(columnNames(node)[0] ?? '') : undefined
    if (condition !== undefined) replace(node, overChunks(condition, source, knowledgeBase))
  }
}

/** The condition over the stored columns of the chunks `c`. */
function overChunks(condition: TreeNode, source: SearchSource, kb: KnowledgeBase): TreeNode {
  const copy = copyOf(condition)
  for (const node of [...walk(copy)]) {
    const name = ownColumnName(node, source)
    if (name !== undefined) replace(node, storedColumn(name, kb))
  }
  return copy
}

function storedColumn(name: string, kb: KnowledgeBase): TreeNode {
  // Another column of the same list.
  if (isExclusion(name)) return columnNode(name)
  if (name === 'id') return columnNode('c', 'document_id')
  if (['chunk_id', 'chunk_content', 'metadata'].includes(name)) return columnNode('c', name)
  const stored = kb.storedMetadata.find((column) => metadataName(column).toLowerCase() === name)
  // A declared column of which no row has come yet is empty.
  return stored === undefined ? nullNode() : columnNode('c', stored.column)
}
