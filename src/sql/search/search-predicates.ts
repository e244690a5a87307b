import type { SearchDefaults } from '../../core/domain/hybrid-search.ts'
import { AppError } from '../../core/errors.ts'
import { placed } from '../ast/placed-error.ts'
import {
  columnNames,
  columnNode,
  constantNumber,
  constantText,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  notNode,
  replace,
  type TreeNode,
  type TreeValue,
  textValue,
  truthNode,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import { HAS_TEXT } from './lateral-search.ts'
import type { PlannedText } from './plan-inputs.ts'
import { rankingWithin } from './predicate-pushdown.ts'
import {
  combinedRanking,
  type Exclusion,
  excludedColumn,
  type LateralRanking,
  type Ranking,
  type Search,
  textIndexesOf,
} from './ranking.ts'
import {
  allowsPartial,
  hybridSearchOf,
  isReranked,
  ownColumnName,
  type SearchOption,
  type SearchSource,
  searchOptionOf,
} from './search-options.ts'

interface SearchTexts {
  add(text: PlannedText): number
  /** Records a parameter that must be a relevance threshold. */
  addThreshold(parameter: string): void
  /** The chunk columns that a condition may name, in lower case. */
  readonly ownColumns: ReadonlySet<string>
  readonly hybridDefaults: SearchDefaults
  /** Returns a SELECT of an expression's values from other sources; undefined if it uses none. */
  valuesOf(expression: TreeNode): TreeNode | undefined
}

/**
 * Takes the search out of a SELECT's conditions, in its WHERE and joins. A wanted text becomes
 * TRUE, because a search ranks instead of filtering; an unwanted one becomes the source's
 * `__excluded_<n>` column. Options such as `reranking = false` become TRUE as well.
 * @throws AppError `sql_invalid_search` for anything that `content` cannot be compared with
 */
export function takeSearch(
  conditions: readonly TreeNode[],
  source: SearchSource,
  texts: SearchTexts,
): Search {
  const exclusions: Exclusion[] = []
  const options: SearchOption[] = []
  const collector: Collector = { source, texts, exclusions, options }
  const rankings = conditions.flatMap((condition) => take(condition, ALONE, collector) ?? [])
  const ranking = combinedRanking('farthest', rankings)
  // A lateral search uses only vectors. That is an error only if the statement itself asks for a
  // hybrid search.
  const isHybrid = ranking?.kind !== 'lateral' && texts.hybridDefaults.isHybrid
  const hybrid = hybridSearchOf(options, { ...texts.hybridDefaults, isHybrid })
  const refuseMany = (what: string, count: number) => {
    if (count <= SEARCH_TEXTS_MAX) return
    const message = `${what} at most ${SEARCH_TEXTS_MAX} texts, and this one ${count}`
    throw new AppError('sql_invalid_search', message)
  }
  if (hybrid !== null) refuseMany('A hybrid search has', textIndexesOf(ranking).length)
  refuseMany('A search excludes', exclusions.flatMap(({ textIndexes }) => textIndexes).length)
  const partly = { isReranked: isReranked(options), allowsPartial: allowsPartial(options) }
  return { ranking, exclusions, hybrid, ...partly }
}

/**
 * A wanted text adds two parts and their scales to a hybrid statement. DuckDB cannot be interrupted
 * while it compares two thousand chunks with all unwanted ones.
 */
const SEARCH_TEXTS_MAX = 30

interface Collector {
  readonly source: SearchSource
  readonly texts: SearchTexts
  readonly exclusions: Exclusion[]
  readonly options: SearchOption[]
}

interface Around {
  /** Whether it is inside an odd number of NOTs. */
  readonly isNegated: boolean
  /** Whether it is inside an OR at any level. */
  readonly isEither: boolean
}

const ALONE: Around = { isNegated: false, isEither: false }

function take(node: TreeNode, around: Around, collector: Collector): Ranking | null {
  const { isNegated } = around
  if (node.type === 'OPERATOR_NOT') {
    const [child] = nodesOf(node.children)
    return child === undefined ? null : take(child, { ...around, isNegated: !isNegated }, collector)
  }
  if (node.class === 'CONJUNCTION') {
    const isAnd = (node.type === 'CONJUNCTION_AND') !== isNegated
    const inner = { isNegated, isEither: around.isEither || node.type === 'CONJUNCTION_OR' }
    const parts = nodesOf(node.children).flatMap((branch) => {
      const ranking = take(branch, inner, collector)
      if (ranking === null) return []
      const { source, texts } = collector
      const own = { ...source, columns: texts.ownColumns }
      return isAnd ? [ranking] : [rankingWithin(ranking, { branch, isNegated }, own)]
    })
    return combinedRanking(isAnd ? 'farthest' : 'nearest', parts)
  }
  return placed(node, () => takeCondition(node, around, collector))
}

function takeCondition(node: TreeNode, around: Around, collector: Collector): Ranking | null {
  if (takeOption(node, around, collector)) return null
  checkThreshold(node, collector)
  const operator = operatorOf(node)
  const [column, ...operands] = operandsOf(node)
  if (column === undefined || !isContent(column, collector.source)) {
    // `content IN :list`, as DuckDB parses it.
    const isList = operator === 'contains' && column?.class === 'PARAMETER'
    if (isList && operands.some((operand) => isContent(operand, collector.source)))
      throw wrongList()
    refuseOtherUse(node, collector.source)
    return null
  }
  return takePredicate(node, operands, around, collector)
}

const WANTING = new Set(['COMPARE_EQUAL', '~~', '~~*', 'COMPARE_IN'])
const EXCLUDING = new Set(['COMPARE_NOTEQUAL', '!~~', '!~~*', 'COMPARE_NOT_IN'])

/** @param operands what `content` is compared with */
function takePredicate(
  node: TreeNode,
  operands: readonly TreeNode[],
  { isNegated }: Around,
  collector: Collector,
): Ranking | null {
  const operator = operatorOf(node)
  if (operator === 'OPERATOR_IS_NULL' || operator === 'OPERATOR_IS_NOT_NULL') {
    replace(node, truthNode(operator === 'OPERATOR_IS_NOT_NULL'))
    return null
  }
  if (!WANTING.has(operator) && !EXCLUDING.has(operator)) throw wrongOperator()
  const isWanted = WANTING.has(operator) !== isNegated
  const [first] = operands
  if (isWanted && operands.length === 1 && first !== undefined && !isFixedText(first)) {
    const ranking = lateralRanking(first, collector)
    replace(node, columnNode(collector.source.alias, HAS_TEXT))
    return ranking
  }
  if (!isWanted && operands.some((operand) => isCorrelated(operand, collector))) {
    throw new AppError(
      'sql_not_supported',
      'The text that content must not match cannot come from a column',
    )
  }
  const textIndexes = operands.map((operand) =>
    collector.texts.add(searchTextOf(operand, operator)),
  )
  if (isWanted) {
    replace(node, truthNode(!isNegated))
    return combinedRanking(
      'nearest',
      textIndexes.map((textIndex) => ({ kind: 'text', textIndex })),
    )
  }
  const index = collector.exclusions.length
  collector.exclusions.push({ index, textIndexes })
  const excluded = columnNode(collector.source.alias, excludedColumn(index))
  replace(node, isNegated ? excluded : notNode(excluded))
  return null
}

function wrongOperator(): AppError {
  const message = 'content is searched with =, !=, LIKE, NOT LIKE, IN and NOT IN'
  return new AppError(
    'sql_invalid_search',
    `${message}; for other text conditions use chunk_content`,
  )
}

function wrongList(): AppError {
  const message = 'content IN takes each text as a parameter of its own: content IN (:one, :other)'
  return new AppError('sql_invalid_search', message)
}

/** Operators such as `=` and LIKE are different kinds of nodes in DuckDB's tree. */
function operatorOf(node: TreeNode): string {
  return node.class === 'FUNCTION' ? textValue(node.function_name) : textValue(node.type)
}

/** Returns the compared expressions, with the column first. */
function operandsOf(node: TreeNode): readonly TreeNode[] {
  if (node.class === 'COMPARISON') {
    const sides = [node.left, node.right].filter(isNode)
    return isColumn(unwrapped(sides[1])) && !isColumn(unwrapped(sides[0])) ? sides.reverse() : sides
  }
  if (node.class === 'FUNCTION' || node.class === 'OPERATOR') return nodesOf(node.children)
  return []
}

const TEXT_FUNCTIONS = new Set(['lower', 'upper', 'trim'])

/** In a search, `lower(content)` means `content`. */
function unwrapped(node: TreeNode | undefined): TreeNode | undefined {
  const isTextFunction =
    node?.class === 'FUNCTION' && TEXT_FUNCTIONS.has(textValue(node.function_name))
  return isTextFunction ? nodesOf(node.children)[0] : node
}

function isNamed(node: TreeNode | undefined, name: string, source: SearchSource): boolean {
  return ownColumnName(node, source) === name
}

function isContent(node: TreeNode, source: SearchSource): boolean {
  return isNamed(unwrapped(node), 'content', source)
}

function searchTextOf(operand: TreeNode, operator: string): PlannedText {
  if (operand.class === 'PARAMETER')
    return { kind: 'parameter', name: textValue(operand.identifier) }
  const text = constantText(operand)
  if (text === undefined) throw noText(operand)
  const bare = text.replace(/^%+|(?<!%)%+$/g, '')
  return { kind: 'constant', text: operator.includes('~~') ? bare : text }
}

function isFixedText(operand: TreeNode): boolean {
  return operand.class === 'PARAMETER' || constantText(operand) !== undefined
}

function isCorrelated(operand: TreeNode, { texts }: Collector): boolean {
  return [...walk(operand)].some(isColumn) && texts.valuesOf(operand) !== undefined
}

function lateralRanking(operand: TreeNode, { texts }: Collector): LateralRanking {
  const select = [...walk(operand)].some(isColumn) ? texts.valuesOf(operand) : undefined
  if (select === undefined) throw noText(operand)
  const textIndex = texts.add({ kind: 'column', select })
  return { kind: 'lateral', textIndex, operand: copyOf(operand) }
}

function noText(operand: TreeNode): AppError {
  if (isColumn(operand)) {
    const name = columnNames(operand).join('.')
    const hint = `content = "${name}" compares with a column; a text needs single quotes`
    return new AppError('sql_invalid_search', `${hint}: content = '${name}'`)
  }
  const what = 'a text, a :parameter or a column of another table'
  return new AppError('sql_invalid_search', `content is searched for ${what}`)
}

function takeOption(node: TreeNode, around: Around, { source, options }: Collector): boolean {
  const option = searchOptionOf(node)
  if (option === undefined || !isNamed(option.column, option.name, source)) return false
  if (around.isNegated || around.isEither) {
    const within = around.isNegated ? 'NOT' : 'OR'
    const message = `${option.name} cannot be used within ${within}: it applies to the whole search`
    throw new AppError('sql_invalid_search', message)
  }
  options.push(option)
  replace(node, truthNode(true))
  return true
}

function checkThreshold(node: TreeNode, { source, texts }: Collector): void {
  if (node.class !== 'COMPARISON') return
  const [column, value] = operandsOf(node)
  if (!isNamed(column, 'relevance', source)) return
  if (value?.class === 'PARAMETER') texts.addThreshold(textValue(value.identifier))
  const threshold = constantNumber(value)
  if (threshold !== undefined) checkedThreshold(threshold)
}

/** @throws AppError `sql_invalid_search` for anything but a number from 0 to 1 */
export function checkedThreshold(threshold: unknown): void {
  if (typeof threshold === 'number' && threshold >= 0 && threshold <= 1) return
  const message = `Invalid relevance threshold ${threshold}: expected a number from 0 to 1`
  throw new AppError('sql_invalid_search', message)
}

function refuseOtherUse(node: TreeNode, source: SearchSource): void {
  for (const inner of walkExpression(node)) {
    if (isNamed(inner, 'content', source)) throw wrongOperator()
  }
}

/** @throws AppError `sql_invalid_search` outside of WHERE, where the search would be lost */
export function refuseSearches(expression: TreeValue, source: SearchSource): void {
  refuseAmong(walkExpression(expression), source)
}

/** Like `refuseSearches`, for subqueries, which see this source by its alias. */
export function refuseCorrelatedSearches(expression: TreeValue, source: SearchSource): void {
  refuseAmong(walk(expression), { ...source, isOnly: false })
}

function refuseAmong(nodes: Iterable<TreeNode>, source: SearchSource): void {
  for (const node of nodes) {
    const operator = operatorOf(node)
    if (!WANTING.has(operator) && !EXCLUDING.has(operator)) continue
    if (operandsOf(node).some((operand) => isContent(operand, source))) {
      throw new AppError('sql_invalid_search', 'content can be searched in WHERE only')
    }
  }
}
