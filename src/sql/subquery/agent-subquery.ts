/** Replaces an agent in a FROM by one row for each answer to the questions in `question = …`. */
import type { Agent } from '../../core/domain/agents/agent.ts'
import { quote } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import {
  columnNames,
  columnNode,
  constantText,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  type TreeNode,
  type TreeValue,
  textsOf,
  textValue,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import { ctesOf, type Surroundings, valuesSelect } from '../search/lateral-search.ts'
import { BOUND, type PlanInputs, type PlannedText } from '../search/plan-inputs.ts'

/** The columns of every answer. `*` shows only the first two. */
const SHOWN_COLUMNS = ['answer', 'question'] as const
const HIDDEN_COLUMNS = ['trace_id', 'citations'] as const

interface AgentSource {
  readonly agent: Agent
  readonly alias: string
  readonly isOnly: boolean
}

/**
 * Finds the questions of a SELECT to an agent and returns the subquery with its answers. The
 * statement's conditions are kept, because `question` is a column of the answers.
 * @param around the SELECT as written
 * @throws AppError `sql_invalid_search` without a question
 */
export function agentSubquery(
  source: AgentSource,
  around: Surroundings,
  inputs: PlanInputs,
): {
  readonly sql: string
  /** Columns that `*` must not show. */
  readonly hiddenColumns: readonly string[]
} {
  const questions = questionsOf(source, around)
  if (questions.length === 0) {
    const { name } = source.agent
    const how = `WHERE question = '…', or join it: JOIN ${name} AS a ON a.question = t.column`
    throw new AppError('sql_invalid_search', `Agent ${name} is asked by ${how}`)
  }
  const used = usedColumns(source, around.select)
  const fields = used.filter((name) => !isStandard(name))
  const agentIndex = inputs.addAgent({ agent: source.agent, questions, fields })
  const hiddenColumns = used.filter((name) => !isShown(name))
  const columns = [...SHOWN_COLUMNS, ...hiddenColumns].map((name) => {
    return `json_extract_string(answer, ${jsonPath(name)}) AS ${quote(name)}`
  })
  const answers = `SELECT unnest($${BOUND.answers(agentIndex)}::VARCHAR[])::JSON AS answer`
  return { sql: `SELECT ${columns.join(', ')} FROM (${answers})`, hiddenColumns }
}

/** The fields of an answer have lower-case names. */
function jsonPath(name: string): string {
  const key = name.toLowerCase().replaceAll('\\', '\\\\').replaceAll('"', '\\"')
  return `'$."${key.replaceAll("'", "''")}"'`
}

function isShown(name: string): boolean {
  return SHOWN_COLUMNS.some((shown) => shown === name.toLowerCase())
}

function isStandard(name: string): boolean {
  return isShown(name) || HIDDEN_COLUMNS.some((hidden) => hidden === name.toLowerCase())
}

/** Returns the agent's columns that the SELECT uses, without duplicates. */
function usedColumns(source: AgentSource, select: TreeNode): readonly string[] {
  const used = new Map<string, string>()
  const aliases = new Set(nodesOf(select.select_list).flatMap(newName))
  // Unqualified names in a subquery may mean something else.
  const own = new Set(walkExpression(select))
  for (const node of walk(select)) {
    if (!isColumn(node)) continue
    const names = columnNames(node)
    const name = names.at(-1) ?? ''
    const key = name.toLowerCase()
    const isQualified = names.at(-2)?.toLowerCase() === source.alias.toLowerCase()
    const isPlain = names.length === 1 && source.isOnly && own.has(node) && !aliases.has(key)
    if ((isQualified || isPlain) && !used.has(key)) used.set(key, name)
  }
  return [...used.values()]
}

/** Returns the alias of a SELECT item if it differs from the column's name. */
function newName(item: TreeNode): readonly string[] {
  const alias = textValue(item.alias).toLowerCase()
  const name = isColumn(item) ? columnNames(item).at(-1)?.toLowerCase() : undefined
  return alias === '' || alias === name ? [] : [alias]
}

function questionsOf(source: AgentSource, around: Surroundings): readonly PlannedText[] {
  const { select } = around
  const operands: TreeNode[] = []
  collect(select.where_clause ?? null, source, operands)
  if (isNode(select.from_table)) collectFrom(select.from_table, source, operands)
  return operands.flatMap((operand) => plannedTexts(operand, source, around))
}

/** Collects the expressions that `question` must equal. Negated ones are not asked. */
function collect(condition: TreeValue, source: AgentSource, operands: TreeNode[]): void {
  if (!isNode(condition)) return
  if (condition.class === 'CONJUNCTION') {
    for (const part of nodesOf(condition.children)) collect(part, source, operands)
  } else if (condition.type === 'COMPARE_EQUAL') {
    const [left, right] = [condition.left, condition.right].filter(isNode)
    if (left === undefined || right === undefined) return
    if (isQuestion(left, source)) operands.push(right)
    else if (isQuestion(right, source)) operands.push(left)
  } else if (condition.type === 'COMPARE_IN') {
    const [column, ...values] = nodesOf(condition.children)
    if (isQuestion(column, source)) operands.push(...values)
  } else if (condition.class === 'SUBQUERY' && isQuestion(condition.child, source)) {
    operands.push(condition)
  }
}

/** Collects from join conditions, and from `USING (question)`. */
function collectFrom(ref: TreeNode, source: AgentSource, operands: TreeNode[]): void {
  if (ref.type !== 'JOIN') return
  collect(ref.condition ?? null, source, operands)
  const isUsed = textsOf(ref.using_columns).some((name) => name.toLowerCase() === 'question')
  if (isUsed) operands.push(columnNode('question'))
  for (const side of [ref.left, ref.right].filter(isNode)) collectFrom(side, source, operands)
}

function isQuestion(node: TreeValue | undefined, { alias, isOnly }: AgentSource): boolean {
  if (!isColumn(node)) return false
  const names = columnNames(node).map((name) => name.toLowerCase())
  if (names.at(-1) !== 'question') return false
  return names.length === 1 ? isOnly : names.at(-2) === alias.toLowerCase()
}

function plannedTexts(
  operand: TreeNode,
  source: AgentSource,
  around: Surroundings,
): readonly PlannedText[] {
  if (operand.class === 'PARAMETER') {
    return [{ kind: 'parameter', name: textValue(operand.identifier) }]
  }
  const text = constantText(operand)
  if (text !== undefined) return [{ kind: 'constant', text }]
  const select = operand.class === 'SUBQUERY' ? subquery(operand, around) : undefined
  const values = select ?? valuesSelect(operand, source.alias.toLowerCase(), around)
  if (values !== undefined) return [{ kind: 'column', select: values }]
  const how = 'a text in single quotes, a :parameter, or a column of another table'
  throw new AppError('sql_invalid_search', `question is compared with ${how}`)
}

/** Handles `question IN (SELECT …)`. */
function subquery(operand: TreeNode, around: Surroundings): TreeNode | undefined {
  const node = isNode(operand.subquery) ? operand.subquery.node : undefined
  if (!isNode(node)) return undefined
  const own = isNode(node.cte_map) ? nodesOf(node.cte_map.map) : []
  const map = ctesOf({ ...around, ctes: [...around.ctes, ...own] })
  const query = { ...copyOf(node), cte_map: { map: map.map(copyOf) } }
  return { error: false, statements: [{ node: query, named_param_map: [] }] }
}
