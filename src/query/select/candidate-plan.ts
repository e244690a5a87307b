import type { SqlEngine } from '../../domain/ports.ts'
import {
  parseTree,
  queryOf,
  statementOf,
  type TreeNode,
  treeText,
} from '../../sql/ast/select-ast.ts'
import { parameterNames, tokenize } from '../../sql/lexer/tokens.ts'
import { isShortAnswer } from '../../sql/search/top-k.ts'
import type { CandidateEdit, Subtree } from '../../sql/subquery/tree-edit.ts'
import type { CandidatePlan, CandidateRequest } from './plan-cache.ts'

/**
 * The statement with its searches answered from candidates. A search in it that they cannot answer stays as it is.
 * @param tree of the whole statement, all grafts in their places; it is changed
 * @returns null where no search can be answered so
 */
export async function candidatePlan(
  tree: TreeNode,
  grafts: readonly CandidateEdit[],
  engine: SqlEngine,
): Promise<CandidatePlan | null> {
  if (grafts.length === 0) return null
  const requests = await Promise.all(grafts.map((graft) => requestOf(graft, engine)))
  for (const { rows } of grafts) rows.apply(await parsed(rows, engine))
  const isShort = isShortAnswer(queryOf(statementOf(tree)))
  return { ...(await printed(tree, engine)), requests, isShort }
}

async function requestOf(
  { text, knowledgeBase, count, kept, hybrid }: CandidateEdit,
  engine: SqlEngine,
): Promise<CandidateRequest> {
  const request = { text, knowledgeBase, count, hybrid }
  if (kept === null) return { ...request, kept: null }
  const tree = await parsed(kept, engine)
  kept.apply(tree)
  return { ...request, kept: { ...(await printed(tree, engine)), isCacheable: kept.isCacheable } }
}

async function parsed({ sql }: Subtree, engine: SqlEngine): Promise<TreeNode> {
  return parseTree(await engine.parse(sql))
}

async function printed(tree: TreeNode, engine: SqlEngine) {
  const sql = await engine.print(treeText(tree))
  return { sql, parameters: new Set(parameterNames(tokenize(sql))) }
}
