import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { CONDITIONS } from './hybrid-rows.ts'
import {
  columnNames,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  walk,
} from './select-ast.ts'

/**
 * The part of a WHERE that can be checked on a knowledge base's rows before they are ranked: the members of its AND that
 * name nothing but columns of the chunks. null: there is none.
 */
export function ownConditions(where: TreeValue, alias: string, kb: KnowledgeBase): TreeNode | null {
  const names = ownNames(kb)
  const isOwn = (node: TreeNode) => {
    const parts = columnNames(node).map((part) => part.toLowerCase())
    const isQualified = parts.length === 2 && parts[0] === alias.toLowerCase()
    return (parts.length === 1 || isQualified) && names.has(parts.at(-1) ?? '')
  }
  const [first, ...others] = conjunctsOf(where).filter((part) => namesOnly(part, isOwn))
  if (first === undefined) return null
  if (others.length === 0) return copyOf(first)
  const children = [first, ...others].map(copyOf)
  return { class: 'CONJUNCTION', type: 'CONJUNCTION_AND', alias: '', children }
}

function ownNames(kb: KnowledgeBase): ReadonlySet<string> {
  const names = [...kb.storedMetadata.map(({ name }) => name), ...(kb.metadataColumns ?? [])]
  const plain = ['id', 'chunk_id', 'chunk_content', 'metadata']
  const measures = new Set(['relevance', 'distance'])
  return new Set(
    [...plain, ...names.map((name) => name.toLowerCase())].filter((name) => !measures.has(name)),
  )
}

function conjunctsOf(where: TreeValue): readonly TreeNode[] {
  if (!isNode(where)) return []
  return where.type === 'CONJUNCTION_AND' ? nodesOf(where.children).flatMap(conjunctsOf) : [where]
}

/** True for a condition over columns of the chunks alone, at least one of them. */
function namesOnly(condition: TreeNode, isOwn: (column: TreeNode) => boolean): boolean {
  const nodes = [...walk(condition)]
  if (nodes.some((node) => node.class === 'SUBQUERY' || node.class === 'STAR')) return false
  const columns = nodes.filter(isColumn)
  return columns.length > 0 && columns.every(isOwn)
}

/** Puts the conditions into the tree of a graft. */
export function putConditions(graft: TreeNode, conditions: TreeNode): void {
  for (const node of [...walk(graft)]) {
    if (isColumn(node) && columnNames(node)[0] === CONDITIONS) replace(node, conditions)
  }
}
