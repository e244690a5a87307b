import type { SqlEngine } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import { excerptAt, PlacedError } from '../../sql/ast/placed-error.ts'
import {
  keepConstants,
  parseTree,
  queryOf,
  statementOf,
  type TreeNode,
  treeText,
} from '../../sql/ast/select-ast.ts'
import { guard } from '../../sql/guard/guard.ts'
import { checkExpandedSize, limitJson } from '../../sql/guard/statement-limits.ts'
import { bindSystemFunctions } from '../../sql/guard/system-functions.ts'
import {
  parameterNames,
  toDuckDB,
  tokenize,
  withoutClosingSemicolons,
} from '../../sql/lexer/tokens.ts'
import type { NameScope } from '../../sql/relation.ts'
import { rewrite } from '../../sql/rewrite.ts'
import { type GivenSearch, Requests } from '../../sql/search/plan-inputs.ts'
import { isShortAnswer, type SelectPlace } from '../../sql/search/top-k.ts'
import type { CandidateEdit, Subtree, TreeEdit } from '../../sql/subquery/tree-edit.ts'
import type { CandidatePlan, CandidateRequest, SelectPlan } from './plan-cache.ts'

/** Views that may stand within one another. */
export const VIEW_DEPTH_MAX = 10

/** Working on a statement's tree holds the main thread: a second and a half for so many. */
const TOKENS_MAX = 50_000

/** SELECTs for values within SELECTs for values. */
const VALUES_DEPTH_MAX = 5

/**
 * From text to a statement that DuckDB can run: its own parser, the guard, names resolved, searches, views and agents
 * grafted, and back to text. What comes out is exactly what was checked.
 * @throws AppError `sql_syntax`, `sql_not_supported`, `sql_forbidden`, `sql_unknown_name`, `sql_invalid_search`
 */
export async function planSelect(
  sql: string,
  names: NameScope,
  engine: SqlEngine,
  search: GivenSearch | null = null,
): Promise<SelectPlan> {
  const { tree, written, text } = await parsed(sql, engine)
  try {
    return await planTree(tree, { names, engine, search, written, depth: 0, reranks: true })
  } catch (error) {
    if (!(error instanceof PlacedError)) throw error
    const { code, message, title } = error.failure
    const excerpt = excerptAt(text, error.offset)
    throw new AppError(code, message, { title, excerpt, cause: error.failure.cause })
  }
}

interface Planning {
  readonly names: NameScope
  readonly engine: SqlEngine
  readonly search: GivenSearch | null
  readonly written: readonly string[]
  readonly depth: number
  /** False for what gives values to another. */
  readonly reranks: boolean
}

async function planTree(tree: TreeNode, planning: Planning): Promise<SelectPlan> {
  const { names, engine, written, depth } = planning
  const requests = new Requests(planning.reranks, planning.search)
  const grafts = checked(tree, { names, requests, place: 'outermost' })
  const candidates: CandidateEdit[] = []
  await applyGrafts(grafts, { engine, requests, candidates, depth: 0 })
  // Views that read views may have made it large.
  checkExpandedSize(queryOf(statementOf(tree)))
  const printed = await engine.print(treeText(tree))
  const parameters = new Set(parameterNames(tokenize(printed)))
  const values = new Map<TreeNode, SelectPlan>()
  for (const { select } of columnRequests(requests)) {
    if (depth >= VALUES_DEPTH_MAX) throw tooDeep()
    const inner = { ...planning, depth: depth + 1, reranks: false }
    values.set(select, await planTree(select, inner))
  }
  for (const { candidates: select, names: own } of requests.rerankings) {
    const inner = { ...planning, names: { ...own, readsChunkKeys: true }, reranks: false }
    values.set(select, await planTree(select, inner))
  }
  const { searches, agents, thresholds, scans, rerankings } = requests
  const isOfCatalog = [...values.values()].some((plan) => plan.readsCatalog)
  const readsCatalog = requests.readsCatalog || isOfCatalog
  const requested = { searches, agents, thresholds, scans, rerankings, readsCatalog }
  const isShort = isShortAnswer(queryOf(statementOf(tree)))
  const plan = { ...requested, sql: printed, values, parameters, written, isShort }
  // Last: it changes the tree.
  return { ...plan, candidates: await candidatePlan(tree, candidates, engine) }
}

interface Checking {
  readonly names: NameScope
  readonly requests: Requests
  readonly place: SelectPlace
}

/** The second gate, then the rewriting, of what a caller wrote. */
function checked(tree: TreeNode, rewriting: Checking): readonly TreeEdit[] {
  bindSystemFunctions(tree)
  guard(tree)
  keepConstants(tree)
  return [...rewrite(tree, rewriting), ...limitJson(tree)]
}

interface GraftScope {
  readonly engine: SqlEngine
  readonly requests: Requests
  /** Collected on the way. */
  readonly candidates: CandidateEdit[]
  /** The number of views around. */
  readonly depth: number
}

async function applyGrafts(grafts: readonly TreeEdit[], scope: GraftScope): Promise<void> {
  const { engine, requests, depth } = scope
  const trees = await Promise.all(grafts.map((graft) => graftTree(graft, engine)))
  for (const [index, graft] of grafts.entries()) {
    const tree = trees[index]
    if (tree === undefined) throw new Error('each graft has a tree')
    if (graft.view !== undefined) {
      const { name, names } = graft.view
      if (depth >= VIEW_DEPTH_MAX) throw viewsTooDeep(name)
      requests.addView(name)
      const inner = checkedView(name, tree, { names, requests, place: 'nested' })
      await applyGrafts(inner, { ...scope, depth: depth + 1 })
    }
    graft.apply(tree)
    if (graft.candidates !== undefined) scope.candidates.push(graft.candidates)
  }
}

async function graftTree({ sql, view }: TreeEdit, engine: SqlEngine): Promise<TreeNode> {
  if (view === undefined) return parseTree(await engine.parse(sql))
  return (await parsed(sql, engine)).tree
}

/** A failure within a view has its place there, not in the statement that reads it. */
function checkedView(name: string, tree: TreeNode, checking: Checking): readonly TreeEdit[] {
  try {
    return checked(tree, checking)
  } catch (error) {
    if (!(error instanceof PlacedError)) throw error
    const { code, message } = error.failure
    throw new AppError(code, `View ${name}: ${message}`, { cause: error.failure })
  }
}

function viewsTooDeep(name: string): AppError {
  const message = `View ${name} goes through more than ${VIEW_DEPTH_MAX} views, or through itself`
  return new AppError('sql_not_supported', message)
}

function tooDeep(): AppError {
  const message = `A search for a column's texts has at most ${VALUES_DEPTH_MAX} others within it`
  return new AppError('sql_not_supported', message)
}

function columnRequests({ searches, agents }: Requests) {
  const texts = [...searches.map(({ of }) => of), ...agents.flatMap(({ questions }) => questions)]
  return texts.filter((text) => text.kind === 'column')
}

interface ParsedSelect {
  readonly tree: TreeNode
  /** The names of its parameters. */
  readonly written: readonly string[]
  /** What DuckDB read: offsets in the tree count in it. */
  readonly text: string
}

async function parsed(sql: string, engine: SqlEngine): Promise<ParsedSelect> {
  try {
    return await parsedWith(sql, 'standard', engine)
  } catch (error) {
    const isSyntax = error instanceof AppError && error.code === 'sql_syntax'
    if (!isSyntax || !sql.includes("\\'")) throw error
    // Existing clients escape a quote as \' . If that reading fails too, the first error is the one to show.
    return await parsedWith(sql, 'backslash', engine).catch(() => Promise.reject(error))
  }
}

async function parsedWith(
  sql: string,
  escapes: 'standard' | 'backslash',
  engine: SqlEngine,
): Promise<ParsedSelect> {
  const tokens = tokenize(sql, escapes)
  if (withoutClosingSemicolons(tokens).length === 0) {
    throw new AppError('sql_syntax', 'The statement is empty')
  }
  if (tokens.length > TOKENS_MAX) {
    const limit = `A statement has at most ${TOKENS_MAX} words and signs, found ${tokens.length}`
    throw new AppError('sql_not_supported', `${limit}; pass a long list as a parameter`)
  }
  const text = toDuckDB(sql, tokens)
  const tree = parseTree(await engine.parse(text))
  return { tree, written: parameterNames(tokens), text }
}

/**
 * The statement with its searches answered from candidates. A search in it that they cannot answer stays as it is.
 * @param tree of the whole statement, all grafts in their places; it is changed
 * @returns null where no search can be answered so
 */
async function candidatePlan(
  tree: TreeNode,
  grafts: readonly CandidateEdit[],
  engine: SqlEngine,
): Promise<CandidatePlan | null> {
  if (grafts.length === 0) return null
  const requests = await Promise.all(grafts.map((graft) => requestOf(graft, engine)))
  for (const { rows } of grafts) rows.apply(await parsedEdit(rows, engine))
  const isShort = isShortAnswer(queryOf(statementOf(tree)))
  return { ...(await printed(tree, engine)), requests, isShort }
}

async function requestOf(
  { text, knowledgeBase, count, kept, hybrid }: CandidateEdit,
  engine: SqlEngine,
): Promise<CandidateRequest> {
  const request = { text, knowledgeBase, count, hybrid }
  if (kept === null) return { ...request, kept: null }
  const tree = await parsedEdit(kept, engine)
  kept.apply(tree)
  return { ...request, kept: { ...(await printed(tree, engine)), isCacheable: kept.isCacheable } }
}

async function parsedEdit({ sql }: Subtree, engine: SqlEngine): Promise<TreeNode> {
  return parseTree(await engine.parse(sql))
}

async function printed(tree: TreeNode, engine: SqlEngine) {
  const sql = await engine.print(treeText(tree))
  return { sql, parameters: new Set(parameterNames(tokenize(sql))) }
}
