import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import {
  columnNames,
  constantNumber,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  textOf,
  walk,
} from '../ast/select-ast.ts'
import { isVolatile } from '../guard/stability.ts'
import { CONDITIONS } from '../subquery/hybrid-rows.ts'
import { metadataName } from './metadata-name.ts'

/** The members of a WHERE's AND, in two parts. */
export interface SplitConditions {
  /**
   * Those that name nothing but columns of the chunks, as one condition; none of them is volatile, since it is checked
   * again with the others. null: there is none.
   */
  readonly own: TreeNode | null
  readonly others: readonly TreeNode[]
}

/** Which part of a WHERE can be checked on a knowledge base's rows before they are ranked. */
export function splitConditions(
  where: TreeValue,
  alias: string,
  kb: KnowledgeBase,
): SplitConditions {
  const names = ownNames(kb)
  const isOwn = (node: TreeNode) => {
    const parts = columnNames(node).map((part) => part.toLowerCase())
    const isQualified = parts.length === 2 && parts[0] === alias.toLowerCase()
    return (parts.length === 1 || isQualified) && names.has(parts.at(-1) ?? '')
  }
  const parts = conjunctsOf(where)
  const own = parts.filter((part) => namesOnly(part, isOwn) && !isVolatile(part))
  return { own: conjunctionOf(own), others: parts.filter((part) => !own.includes(part)) }
}

/** The part that can be checked before the rows are ranked. null: there is none. */
export function pushedDownPredicates(
  where: TreeValue,
  alias: string,
  kb: KnowledgeBase,
): TreeNode | null {
  return splitConditions(where, alias, kb).own
}

/** Copies of the conditions as one. */
export function conjunctionOf([first, ...others]: readonly TreeNode[]): TreeNode | null {
  if (first === undefined) return null
  if (others.length === 0) return copyOf(first)
  const children = [first, ...others].map(copyOf)
  return { class: 'CONJUNCTION', type: 'CONJUNCTION_AND', alias: '', children }
}

const FARTHER: Readonly<Record<string, string>> = {
  COMPARE_GREATERTHAN: 'relevance',
  COMPARE_GREATERTHANOREQUALTO: 'relevance',
  COMPARE_LESSTHAN: 'distance',
  COMPARE_LESSTHANOREQUALTO: 'distance',
}

const FLIPPED: Readonly<Record<string, string>> = {
  COMPARE_GREATERTHAN: 'COMPARE_LESSTHAN',
  COMPARE_GREATERTHANOREQUALTO: 'COMPARE_LESSTHANOREQUALTO',
  COMPARE_LESSTHAN: 'COMPARE_GREATERTHAN',
  COMPARE_LESSTHANOREQUALTO: 'COMPARE_GREATERTHANOREQUALTO',
}

/** True for `relevance >= 0.5` and the like: it cuts off the far end, and what is nearest stays so. */
export function isThresholdOn(condition: TreeNode, alias: string): boolean {
  const { left, right } = condition
  if (condition.class !== 'COMPARISON' || !isNode(left) || !isNode(right)) return false
  const isFlipped = isColumn(right)
  const [column, value] = isFlipped ? [right, left] : [left, right]
  const isFixed = value.class === 'PARAMETER' || constantNumber(value) !== undefined
  if (!isColumn(column) || !isFixed) return false
  const parts = columnNames(column).map((part) => part.toLowerCase())
  const isOurs = parts.length === 1 || (parts.length === 2 && parts[0] === alias.toLowerCase())
  const comparison = textOf(condition.type)
  const cutsBy = FARTHER[isFlipped ? (FLIPPED[comparison] ?? '') : comparison]
  return isOurs && cutsBy !== undefined && cutsBy === parts.at(-1)
}

/** The columns of its chunks that a condition may name, in lower case. */
export function ownNames(kb: KnowledgeBase): ReadonlySet<string> {
  const stored = kb.storedMetadata.flatMap((column) => [column.name, metadataName(column)])
  const names = [...stored, ...(kb.metadataColumns ?? [])]
  const plain = ['id', 'chunk_id', 'chunk_content', 'metadata']
  const measures = new Set(['relevance', 'distance'])
  return new Set(
    [...plain, ...names.map((name) => name.toLowerCase())].filter((name) => !measures.has(name)),
  )
}

/** The members of an AND, those of the ANDs in it too. */
export function conjunctsOf(where: TreeValue): readonly TreeNode[] {
  if (!isNode(where)) return []
  return where.type === 'CONJUNCTION_AND' ? nodesOf(where.children).flatMap(conjunctsOf) : [where]
}

/** True for a condition over columns of the chunks alone, at least one of them. */
function namesOnly(condition: TreeNode, isOwn: (column: TreeNode) => boolean): boolean {
  const nodes = [...walk(condition)]
  if (nodes.some(({ class: kind }) => kind === 'SUBQUERY' || kind === 'STAR')) return false
  const columns = nodes.filter(isColumn)
  return columns.length > 0 && columns.every(isOwn)
}

/** Puts the conditions into the tree of a graft. */
export function putConditions(graft: TreeNode, conditions: TreeNode): void {
  for (const node of [...walk(graft)]) {
    if (isColumn(node) && columnNames(node)[0] === CONDITIONS) replace(node, conditions)
  }
}
