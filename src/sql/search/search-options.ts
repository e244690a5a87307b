/**
 * Reads search options such as `hybrid_search = true`, which are written in a WHERE like
 * comparisons of columns.
 */
import {
  FUSIONS,
  type Fusion,
  fusionNamed,
  type SearchDefaults,
} from '../../core/domain/hybrid-search.ts'
import {
  KNOWLEDGE_BASE_COLUMNS,
  type KnowledgeBase,
  type MetadataColumn,
} from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { placed } from '../ast/placed-error.ts'
import {
  columnNames,
  constantNumber,
  constantText,
  constantTruth,
  isColumn,
  isNode,
  type TreeNode,
} from '../ast/select-ast.ts'
import type { HybridSearch } from './ranking.ts'

const SEARCH_OPTIONS = [
  'hybrid_search',
  'hybrid_search_alpha',
  'hybrid_search_fusion',
  'hybrid_search_feedback',
  'reranking',
  'allow_partial',
] as const

type OptionName = (typeof SEARCH_OPTIONS)[number]

export interface SearchOption {
  readonly name: OptionName
  readonly column: TreeNode
  readonly value: TreeNode
}

/** Reads the comparison as an option, if it names one. */
export function searchOptionOf(node: TreeNode): SearchOption | undefined {
  if (node.class !== 'COMPARISON') return undefined
  const { left, right } = node
  if (!isNode(left) || !isNode(right)) return undefined
  const [column, value] = optionName(left) === undefined ? [right, left] : [left, right]
  const name = optionName(column)
  if (name === undefined) return undefined
  if (node.type === 'COMPARE_EQUAL') return { name, column, value }
  throw new AppError(
    'sql_invalid_search',
    `${name} is set with =, as in ${name} = ${EXAMPLES[name]}`,
  )
}

function optionName(node: TreeNode): OptionName | undefined {
  if (!isColumn(node)) return undefined
  const name = columnNames(node).at(-1)?.toLowerCase()
  return SEARCH_OPTIONS.find((option) => option === name)
}

const EXAMPLES: Readonly<Record<OptionName, string>> = {
  hybrid_search: 'true',
  hybrid_search_alpha: '0.5',
  hybrid_search_fusion: "'rrf'",
  hybrid_search_feedback: 'true',
  reranking: 'false',
  allow_partial: 'true',
}

/**
 * Combines the options of one search.
 * @param defaults of the knowledge base, for options that the search does not set
 * @returns null for a search by vectors alone: with `hybrid_search = false`, an alpha of 1, or no
 * option
 * @throws AppError `sql_invalid_search` for an invalid value, or for options that contradict each
 * other
 */
export function hybridSearchOf(
  options: readonly SearchOption[],
  defaults: SearchDefaults,
): HybridSearch | null {
  const isOn = onlyValue(options, 'hybrid_search', truthOf)
  const alpha = onlyValue(options, 'hybrid_search_alpha', checkedAlpha)
  const fusion = onlyValue(options, 'hybrid_search_fusion', fusionOf)
  const feedback = onlyValue(options, 'hybrid_search_feedback', truthOf)
  const isAsked = [alpha, fusion, feedback].some((value) => value !== undefined)
  if (!(isOn ?? (isAsked || defaults.isHybrid))) return null
  return combinedSearch({ alpha, fusion, hasFeedback: feedback }, defaults)
}

/** @param asked the search's own options @returns null if vectors have all the weight */
export function combinedSearch(
  asked: { readonly [Key in keyof HybridSearch]?: HybridSearch[Key] | undefined },
  defaults: Omit<SearchDefaults, 'isHybrid'>,
): HybridSearch | null {
  const { alpha = defaults.alpha, fusion = defaults.fusion } = asked
  if (alpha === 1) return null
  const isMovable = fusion === 'convex' && alpha !== 0
  return { alpha, fusion, hasFeedback: isMovable && (asked.hasFeedback ?? defaults.hasFeedback) }
}

/** How to write an option, as a hint if its name is used for a column that does not exist. */
export function optionHint(name: string): string | undefined {
  const option = SEARCH_OPTIONS.find((one) => one === name.toLowerCase())
  if (option === undefined) return undefined
  const how = `${option} = ${EXAMPLES[option]}`
  return `It is an option of a search: ${how}, beside the other conditions of the WHERE`
}

/** True unless the statement has `reranking = false`. @throws AppError like `hybridSearchOf` */
export function isReranked(options: readonly SearchOption[]): boolean {
  return onlyValue(options, 'reranking', truthOf) ?? true
}

/** With `allow_partial = true`. @throws AppError as `hybridSearchOf` */
export function allowsPartial(options: readonly SearchOption[]): boolean {
  return onlyValue(options, 'allow_partial', truthOf) ?? false
}

function onlyValue<T>(
  options: readonly SearchOption[],
  name: OptionName,
  read: (option: SearchOption) => T,
): T | undefined {
  const values = new Set(
    options
      .filter((option) => option.name === name)
      .map((option) => placed(option.column, () => read(option))),
  )
  if (values.size > 1) {
    throw new AppError('sql_invalid_search', `${name} is set twice, to different values`)
  }
  const [value] = values
  return value
}

function truthOf({ name, value }: SearchOption): boolean {
  const isTrue = constantTruth(value)
  if (isTrue === undefined)
    throw new AppError('sql_invalid_search', `${name} must be true or false`)
  return isTrue
}

function checkedAlpha({ value }: SearchOption): number {
  const alpha = constantNumber(value)
  if (alpha !== undefined && alpha >= 0 && alpha <= 1) return alpha
  throw new AppError('sql_invalid_search', 'hybrid_search_alpha must be a number from 0 to 1')
}

function fusionOf({ value }: SearchOption): Fusion {
  const fusion = fusionNamed(constantText(value) ?? '')
  if (fusion !== undefined) return fusion
  const known = FUSIONS.map((name) => `'${name}'`).join(', ')
  throw new AppError('sql_invalid_search', `hybrid_search_fusion must be one of ${known}`)
}

/** Resolves the columns of a knowledge base in a SELECT. */

/** One knowledge base in a FROM, as its SELECT sees it. */
export interface SearchSource {
  readonly alias: string
  /** Whether an unqualified column belongs to this source. */
  readonly isOnly: boolean
}

/** Returns `price` for `price`, `k.price` and `K.Price`; undefined for anything else. */
export function ownColumnName(
  node: TreeNode | undefined,
  { alias, isOnly }: SearchSource,
): string | undefined {
  if (!isColumn(node)) return undefined
  const names = columnNames(node).map((name) => name.toLowerCase())
  const isOwn = names.length === 1 ? isOnly : names.length === 2 && names[0] === alias.toLowerCase()
  return isOwn ? names.at(-1) : undefined
}

/** Returns the chunk columns that a condition may name, in lower case. */
export function chunkColumnNames(kb: KnowledgeBase): ReadonlySet<string> {
  const stored = kb.storedMetadata.flatMap((column) => [column.name, metadataName(column)])
  const names = [...stored, ...(kb.metadataColumns ?? [])]
  const plain = ['id', 'chunk_id', 'chunk_content', 'metadata', ...ownIdNames(kb)]
  const measures = new Set(['relevance', 'distance'])
  return new Set(
    [...plain, ...names.map((name) => name.toLowerCase())].filter((name) => !measures.has(name)),
  )
}

/** The id column in lower case, unless it is also a metadata column. */
export function ownIdNames({ idColumn, storedMetadata }: KnowledgeBase): readonly string[] {
  const key = idColumn?.toLowerCase()
  if (key === undefined || isTakenName(key)) return []
  return storedMetadata.some(({ name }) => name.toLowerCase() === key) ? [] : [key]
}

/** A generated one if its own means something else there (`distance`, `content`, …). */
export function metadataName({ name, column }: MetadataColumn): string {
  return isTakenName(name) ? `__metadata_${column}` : name
}

const TAKEN: ReadonlySet<string> = new Set([
  ...KNOWLEDGE_BASE_COLUMNS,
  ...SEARCH_OPTIONS,
  'content',
])

/** Whether a name has a meaning in searches, or is a column of every knowledge base. */
export function isTakenName(name: string): boolean {
  return TAKEN.has(name.toLowerCase())
}
