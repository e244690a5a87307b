import type { SqlEngine } from '../../core/domain/ports/engine-ports.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { freeMarks } from '../../sql/ast/free-literals.ts'
import { excerptAt, PlacedError } from '../../sql/ast/placed-error.ts'
import {
  keepConstants,
  parseTree,
  queryNode,
  selectOf,
  statementOf,
  type TreeNode,
  textValue,
  treeText,
  walk,
} from '../../sql/ast/select-ast.ts'
import { isConstantQuery } from '../../sql/guard/function-lists.ts'
import { guard } from '../../sql/guard/guard.ts'
import { limitSteps, plainCalls, type UnnamedItem } from '../../sql/guard/limit-steps.ts'
import { bindSystemFunctions, separateParameters } from '../../sql/guard/placeholders.ts'
import { checkExpandedSize, checkTokens, likesAsRegexps } from '../../sql/guard/statement-limits.ts'
import { holdsMarks } from '../../sql/lexer/statement-shape.ts'
import {
  parameterNamesOf,
  toDuckDB,
  tokenize,
  withoutClosingSemicolons,
} from '../../sql/lexer/tokens.ts'
import type { NameScope } from '../../sql/search/plan-inputs.ts'
import { type GivenSearch, PlanInputs, type PlannedText } from '../../sql/search/plan-inputs.ts'
import { isShortAnswer } from '../../sql/search/top-k.ts'
import type { CandidateEdit } from '../../sql/subquery/knowledge-base-subquery.ts'
import { type Rewriting, rewrite, type StatementEdit } from '../../sql/subquery/rewrite.ts'
import type { CandidatePlan, CandidateRequest, SelectPlan } from './plan-cache.ts'

const VIEW_DEPTH_MAX = 10

/** The maximum nesting of SELECTs that supply values. */
const VALUES_DEPTH_MAX = 5

/** DuckDB's parser and printer. */
type SqlText = Pick<SqlEngine, 'parse' | 'print'>

/**
 * Turns SQL text into a statement that DuckDB can run. DuckDB parses it; then it is checked, names
 * are resolved, searches, views and agents are replaced by subqueries, and it is printed again. So
 * only checked SQL runs.
 * @throws AppError `sql_syntax`, `sql_not_supported`, `sql_forbidden`, `sql_unknown_name`,
 * `sql_invalid_search`
 */
export async function planSelect(
  sql: string,
  names: NameScope,
  engine: SqlText,
  search: GivenSearch | null = null,
): Promise<SelectPlan> {
  const { tree, parameterNames, text } = await parseSelect(sql, engine)
  try {
    const inputs = new PlanInputs(true, search)
    const rewriting: Rewriting = { names, inputs, place: 'outermost' }
    const marks = holdsMarks(sql) ? { marks: freeMarks(tree) } : {}
    return {
      ...withoutTrees(await planTree(tree, rewriting, engine, { parameterNames, text })),
      ...marks,
    }
  } catch (error) {
    if (!(error instanceof PlacedError)) throw error
    const { code, message, title } = error.failure
    const excerpt = excerptAt(text, error.offset)
    throw new AppError(code, message, { title, excerpt, cause: error.failure.cause })
  }
}

async function planTree(
  tree: TreeNode,
  rewriting: Rewriting,
  engine: SqlText,
  given: {
    readonly parameterNames: readonly string[]
    readonly depth?: number
    /** The text of the tree; unset for a SELECT built from parts of a checked one. */
    readonly text?: string
  },
): Promise<SelectPlan> {
  const { parameterNames, depth = 0, text } = given
  const { inputs } = rewriting
  const { edits, isAsWritten } = await checked(tree, rewriting, engine, text === undefined)
  const candidates = await applyEdits(edits, inputs, engine)
  // Nested views may have made the statement larger.
  if (edits.length > 0) checkExpandedSize(queryNode(statementOf(tree)))
  const { sql, parameters } =
    text !== undefined && isAsWritten
      ? { sql: text, parameters: namedParameters(tree) }
      : await printTree(tree, engine)
  const innerPlans = new Map<TreeNode, SelectPlan>()
  for (const { select } of correlatedTexts(inputs)) {
    if (depth >= VALUES_DEPTH_MAX) throw tooDeeplyNested()
    const inner = { ...rewriting, inputs: new PlanInputs(false, null) }
    const options = { parameterNames, depth: depth + 1 }
    innerPlans.set(select, await planTree(select, inner, engine, options))
  }
  for (const { candidates: select, names: own } of inputs.rerankings) {
    const names = { ...own, readsChunkKeys: true }
    const inner = { ...rewriting, names, inputs: new PlanInputs(false, inputs.search) }
    innerPlans.set(select, await planTree(select, inner, engine, { parameterNames, depth }))
  }
  const { searches, agents, thresholds, scans, reads } = inputs
  const knowledgeBases = [...inputs.knowledgeBases.values()]
  const rerankings = inputs.rerankings.map(({ names: _, ...input }) => input)
  const isOfCatalog = [...innerPlans.values()].some((plan) => plan.readsCatalog)
  const readsCatalog = inputs.readsCatalog || isOfCatalog
  const ofSources = { reads, described: [] }
  const read = { knowledgeBases, readsCatalog, ...ofSources }
  const collected = { searches, agents, thresholds, scans, rerankings, ...read }
  const isShort = isShortAnswer(queryNode(statementOf(tree)))
  const constant = isConstantQuery(queryNode(statementOf(tree))) ? { answer: null } : null
  const document = documentRows(inputs.document, queryNode(statementOf(tree)))
  const made = { sql, innerPlans, parameters, parameterNames, isShort, constant }
  const plan = { ...collected, ...made, document }
  // Comes last, because it changes the tree.
  return { ...plan, candidates: await candidatePlan(tree, candidates, engine) }
}

function documentRows(found: PlanInputs['document'], query: TreeNode): SelectPlan['document'] {
  if (found?.select !== query) return null
  const { select: _, ...document } = found
  return { ...document, known: { columns: null } }
}

interface Checked {
  readonly edits: readonly StatementEdit[]
  /** Whether nothing was changed, so the statement runs as written. */
  readonly isAsWritten: boolean
}

/** Checks and rewrites the tree of a text that a client wrote. */
async function checked(
  tree: TreeNode,
  rewriting: Rewriting,
  engine: SqlText,
  isPart: boolean,
): Promise<Checked> {
  const isBound = bindSystemFunctions(tree)
  if (!isPart) {
    const methods = plainCalls(queryNode(statementOf(tree)))
    await Promise.all(methods.map((item) => keepName(item, engine)))
    guard(tree)
  }
  // Keeps constants whose printed form would look different.
  keepConstants(tree)
  const before = treeText(tree)
  if (!isPart) {
    const untyped = separateParameters(tree)
    await Promise.all(untyped.map((item) => keepName(item, engine)))
    const unnamed = limitSteps(queryNode(statementOf(tree)))
    await Promise.all(unnamed.map((item) => keepName(item, engine)))
  }
  const edits = rewrite(tree, rewriting)
  await Promise.all(rewriting.inputs.unnamed.splice(0).map((item) => keepName(item, engine)))
  const isChanged = isBound || rewriting.names.isPrinted === true
  const isAsWritten = !isChanged && edits.length === 0 && withLikes(tree) === before
  return { edits, isAsWritten }
}

/** Names the column as it would be named without the added limit. */
async function keepName({ item, original }: UnnamedItem, engine: SqlText): Promise<void> {
  const text = await engine.print(treeText(selectOf(original)))
  item.alias = text.replace(/^SELECT /, '')
}

/** And for views all they read. @returns the same over candidates, where these can answer */
async function applyEdits(
  edits: readonly StatementEdit[],
  inputs: PlanInputs,
  engine: SqlText,
  viewDepth = 0,
): Promise<readonly CandidateEdit[]> {
  const trees = await Promise.all(edits.map((edit) => editTree(edit, engine)))
  const candidates: CandidateEdit[] = []
  for (const [index, edit] of edits.entries()) {
    const tree = trees[index]
    if (tree === undefined) throw new Error('each edit has a tree')
    if (edit.view !== undefined) {
      const { name, names, needs } = edit.view
      if (viewDepth >= VIEW_DEPTH_MAX) throw viewsTooDeep(name)
      inputs.addView(name)
      const rewriting: Rewriting = { names, inputs, place: 'nested', needs }
      const inner = await checkedView(name, tree, rewriting, engine)
      candidates.push(...(await applyEdits(inner.edits, inputs, engine, viewDepth + 1)))
    }
    edit.apply(tree)
    if (edit.candidates !== undefined) candidates.push(edit.candidates)
  }
  return candidates
}

/** A view is a client's SELECT; every other edit is SQL written by Eider. */
async function editTree({ sql, view }: StatementEdit, engine: SqlText): Promise<TreeNode> {
  return view === undefined
    ? parseTree(await engine.parse(sql))
    : (await parseSelect(sql, engine)).tree
}

/** Removes the error's position, which refers to the view's text and not to the statement. */
async function checkedView(
  name: string,
  tree: TreeNode,
  rewriting: Rewriting,
  engine: SqlText,
): Promise<Checked> {
  try {
    return await checked(tree, rewriting, engine, false)
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

function tooDeeplyNested(): AppError {
  const message = `A search for a column's texts has at most ${VALUES_DEPTH_MAX} others within it`
  return new AppError('sql_not_supported', message)
}

function correlatedTexts({ searches, agents }: PlanInputs) {
  const texts = [
    ...searches.map(({ text }) => text),
    ...agents.flatMap(({ questions }) => questions),
  ]
  return texts.filter((text) => text.kind === 'column')
}

interface ParsedSelect {
  readonly tree: TreeNode
  readonly parameterNames: readonly string[]
  /** The text that DuckDB parsed. Offsets in the tree refer to it. */
  readonly text: string
}

async function parseSelect(sql: string, engine: SqlText): Promise<ParsedSelect> {
  try {
    return await parseWith(sql, 'standard', engine)
  } catch (error) {
    if (!hasCode(error, 'sql_syntax') || !sql.includes("\\'")) throw error
    // Some clients escape a quote as \' . If parsing with such escapes fails too, report the first
    // error.
    return await parseWith(sql, 'backslash', engine).catch(() => Promise.reject(error))
  }
}

async function parseWith(
  sql: string,
  escapes: 'standard' | 'backslash',
  engine: SqlText,
): Promise<ParsedSelect> {
  const tokens = tokenize(sql, escapes)
  if (withoutClosingSemicolons(tokens).length === 0) {
    throw new AppError('sql_syntax', 'The statement is empty')
  }
  checkTokens(tokens)
  const text = toDuckDB(sql, tokens)
  const tree = parseTree(await engine.parse(text))
  return { tree, parameterNames: parameterNamesOf(tokens), text }
}

/**
 * Returns the statement with its searches answered from candidates. Other searches stay as they
 * are.
 * @param tree the whole statement with all edits applied; it is modified
 * @returns null if candidates can answer no search
 */
async function candidatePlan(
  tree: TreeNode,
  edits: readonly CandidateEdit[],
  engine: SqlText,
): Promise<CandidatePlan | null> {
  if (edits.length === 0) return null
  const requests = await Promise.all(edits.map((edit) => candidateRequest(edit, engine)))
  for (const { rows } of edits) rows.apply(parseTree(await engine.parse(rows.sql)))
  const isShort = isShortAnswer(queryNode(statementOf(tree)))
  const [{ plain } = { plain: null }] = edits
  return { ...(await printTree(tree, engine)), requests, isShort, plain, known: { columns: null } }
}

async function candidateRequest(
  { rows: _, plain: __, prefilter, ...request }: CandidateEdit,
  engine: SqlText,
): Promise<CandidateRequest> {
  if (prefilter === null) return { ...request, prefilter }
  const tree = parseTree(await engine.parse(prefilter.sql))
  prefilter.apply(tree)
  const { isCacheable, condition } = prefilter
  return { ...request, prefilter: { ...(await printTree(tree, engine)), isCacheable, condition } }
}

/** Searching the text is many times faster than walking the tree. */
function withLikes(tree: TreeNode): string {
  const text = treeText(tree)
  if (!/~~|like_escape/.test(text)) return text
  likesAsRegexps(tree)
  return treeText(tree)
}

async function printTree(tree: TreeNode, engine: SqlText) {
  const sql = await engine.print(withLikes(tree))
  return { sql, parameters: namedParameters(tree) }
}

function namedParameters(tree: TreeNode): ReadonlySet<string> {
  const names = new Set<string>()
  for (const node of walk(tree)) {
    if (node.class === 'PARAMETER') names.add(textValue(node.identifier))
  }
  return names
}

/** Plans in the cache and between threads do not include trees. */
function withoutTrees(plan: SelectPlan, marks = new Map<TreeNode, TreeNode>()): SelectPlan {
  const markOf = (tree: TreeNode): TreeNode => {
    const mark = marks.get(tree) ?? {}
    marks.set(tree, mark)
    return mark
  }
  const marked = (text: PlannedText): PlannedText => {
    return text.kind === 'column' ? { ...text, select: markOf(text.select) } : text
  }
  return {
    ...plan,
    searches: plan.searches.map((search) => ({ ...search, text: marked(search.text) })),
    agents: plan.agents.map((input) => ({ ...input, questions: input.questions.map(marked) })),
    rerankings: plan.rerankings.map(({ candidates, texts, ...input }) => {
      return { ...input, candidates: markOf(candidates), texts: texts.map(marked) }
    }),
    innerPlans: new Map(
      [...plan.innerPlans].map(([tree, inner]) => [markOf(tree), withoutTrees(inner, marks)]),
    ),
  }
}
