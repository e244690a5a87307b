import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import {
  columnNames,
  columnNode,
  conjunctsOf,
  constantNumber,
  constantTruth,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  notNode,
  nullNode,
  replace,
  type TreeNode,
  type TreeValue,
  textValue,
  walk,
} from '../ast/select-ast.ts'
import { isVolatile } from '../guard/function-lists.ts'
import type { BranchRanking, Ranking, Search } from './ranking.ts'
import {
  chunkColumnNames,
  metadataName,
  ownColumnName,
  type SearchSource,
} from './search-options.ts'

/** On a knowledge base's rows before they are ranked. */
function splitConditions(
  where: TreeValue,
  alias: string,
  kb: KnowledgeBase,
): {
  /** Checked again with the others, so none may be volatile; null if there are none. */
  readonly own: TreeNode | null
  readonly others: readonly TreeNode[]
} {
  const names = chunkColumnNames(kb)
  const isOwn = (node: TreeNode) => {
    return names.has(ownColumnName(node, { alias, isOnly: true }) ?? '')
  }
  const parts = conjunctsOf(where)
  const own = parts.filter((part) => namesOnly(part, isOwn) && !isVolatile(part))
  return { own: conjunctionOf(own), others: parts.filter((part) => !own.includes(part)) }
}

/** Returns the part that can be checked before ranking; null if there is none. */
export function pushedDownPredicates(
  where: TreeValue,
  alias: string,
  kb: KnowledgeBase,
): TreeNode | null {
  return splitConditions(where, alias, kb).own
}

interface CandidateSearch {
  readonly textIndex: number
  /** Conditions on chunk columns that candidates must meet; null if there are none. */
  readonly conditions: TreeNode | null
  readonly isCutByDistance: boolean
}

/** For a SELECT that needs only its first rows. @returns the reason if they are not */
export function candidateSearchOf(
  search: Search,
  where: TreeValue,
  source: { readonly alias: string; readonly knowledgeBase: KnowledgeBase },
): CandidateSearch | string {
  const { ranking, exclusions } = search
  if (ranking?.kind === 'branch') return 'its text counts under a condition only'
  if (ranking?.kind !== 'text') return 'it searches for several texts'
  if (exclusions.length > 0) return 'it excludes a text'
  const { own, others } = splitConditions(where, source.alias, source.knowledgeBase)
  const isHarmless = (condition: TreeNode) => isNoneOrThreshold(condition, source.alias)
  if (!others.every(isHarmless)) return 'a condition is about more than the columns of its chunks'
  const isCutByDistance = others.some((condition) => namesColumn(condition, 'distance'))
  return { textIndex: ranking.textIndex, conditions: own, isCutByDistance }
}

function isNoneOrThreshold(condition: TreeNode, alias: string): boolean {
  return constantTruth(condition) === true || thresholdOf(condition, alias) !== null
}

export function hasMoreThanThresholds(where: TreeValue, alias: string): boolean {
  return !conjunctsOf(where).every((condition) => isNoneOrThreshold(condition, alias))
}

function namesColumn(condition: TreeNode, name: string): boolean {
  return [...walk(condition)].some((node) => {
    return isColumn(node) && columnNames(node).at(-1)?.toLowerCase() === name
  })
}

/** Copies the conditions and combines them with AND. */
export function conjunctionOf([first, ...others]: readonly TreeNode[]): TreeNode | null {
  if (first === undefined) return null
  if (others.length === 0) return copyOf(first)
  const children = [first, ...others].map(copyOf)
  return { class: 'CONJUNCTION', type: 'CONJUNCTION_AND', alias: '', children }
}

/** A condition such as `relevance >= 0.5`, which only cuts off the end of the ranking. */
export interface Threshold {
  readonly column: 'relevance' | 'distance'
  readonly comparison: '>' | '>=' | '<' | '<='
  readonly value: number | { readonly parameter: string }
}

/** The comparison that cuts off the end, if its column is on the left, and on the right. */
const SIGNS: Readonly<Record<string, readonly [Threshold['comparison'], Threshold['comparison']]>> =
  {
    COMPARE_GREATERTHAN: ['>', '<'],
    COMPARE_GREATERTHANOREQUALTO: ['>=', '<='],
    COMPARE_LESSTHAN: ['<', '>'],
    COMPARE_LESSTHANOREQUALTO: ['<=', '>='],
  }

/** Null if it is not a threshold. */
export function thresholdOf(condition: TreeNode, alias: string): Threshold | null {
  const { left, right } = condition
  if (condition.class !== 'COMPARISON' || !isNode(left) || !isNode(right)) return null
  const isFlipped = isColumn(right)
  const [column, value] = isFlipped ? [right, left] : [left, right]
  const given = value.class === 'PARAMETER' ? { parameter: textValue(value.identifier) } : undefined
  const fixed = given ?? constantNumber(value)
  if (!isColumn(column) || fixed === undefined) return null
  const comparison = SIGNS[textValue(condition.type)]?.[isFlipped ? 1 : 0]
  if (comparison === undefined) return null
  const cutsBy = comparison.startsWith('>') ? 'relevance' : 'distance'
  if (cutsBy !== ownColumnName(column, { alias, isOnly: true })) return null
  return { column: cutsBy, comparison, value: fixed }
}

/** Whether a condition uses only columns of the chunks, and at least one. */
function namesOnly(condition: TreeNode, isOwn: (column: TreeNode) => boolean): boolean {
  const nodes = [...walk(condition)]
  if (nodes.some(({ class: kind }) => kind === 'SUBQUERY' || kind === 'STAR')) return false
  const columns = nodes.filter(isColumn)
  return columns.length > 0 && columns.every(isOwn)
}

/** Stands for the conditions in Eider's SQL. */
export const CONDITIONS = '__conditions'

export function putConditions(tree: TreeNode, conditions: TreeNode): void {
  for (const node of [...walk(tree)]) {
    if (isColumn(node) && columnNames(node)[0] === CONDITIONS) replace(node, conditions)
  }
}

/** A text under OR counts only for rows that meet the other conditions of its branch. */

interface BranchSource extends SearchSource {
  /** The columns of the chunks, in lower case. */
  readonly columns: ReadonlySet<string>
}

/**
 * Returns the ranking of one branch. A condition on `relevance` or `distance` uses the row's value
 * in the whole search, so it filters rows and does not affect texts.
 * @param branch without its search
 * @param isNegated whether the branch is a negated AND
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

/** Returns conditions that must all be true. */
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

/** Returns the branches of a ranking, outer ones before inner ones. */
export function branchesOf(ranking: Ranking | null): readonly BranchRanking[] {
  if (ranking === null || ranking.kind === 'text' || ranking.kind === 'lateral') return []
  if (ranking.kind === 'branch') return [ranking, ...branchesOf(ranking.part)]
  return ranking.parts.flatMap(branchesOf)
}

/** Stands for a branch's condition over the chunks `c` in Eider's SQL. */
export function branchColumn(branchIndex: number): string {
  return `__branch_${branchIndex}`
}

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

/** Rewrites the condition to use the stored columns of the chunks `c`. */
function overChunks(condition: TreeNode, source: SearchSource, kb: KnowledgeBase): TreeNode {
  const copy = copyOf(condition)
  for (const node of [...walk(copy)]) {
    const name = ownColumnName(node, source)
    if (name !== undefined) replace(node, storedColumn(name, kb))
  }
  return copy
}

function storedColumn(name: string, kb: KnowledgeBase): TreeNode {
  // A column that the same list defines.
  if (isExclusion(name)) return columnNode(name)
  if (name === 'id') return columnNode('c', 'document_id')
  if (['chunk_id', 'chunk_content', 'metadata'].includes(name)) return columnNode('c', name)
  const stored = kb.storedMetadata.find((column) => metadataName(column).toLowerCase() === name)
  // A declared column that no row has yet is null.
  return stored === undefined ? nullNode() : columnNode('c', stored.column)
}
