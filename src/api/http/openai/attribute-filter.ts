/** Filters over attributes as OpenAI's API has them, as those of a search over metadata columns. */

import { nameKey } from '../../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { AppError } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'

/** Of `POST …/search`. */
type Filter = Readonly<Record<string, unknown>>

const OPERATORS: Readonly<Record<string, string>> = {
  eq: '=',
  ne: 'not',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  in: 'in',
  nin: 'not_in',
}

const DEPTH_MAX = 8

const ALL: Filter = {}
const NONE: Filter = { id: { in: [] } }

/**
 * A key that no document has matches nothing: a filter is written before the first file that has it comes.
 * @throws AppError `invalid_request` that names the place
 */
export function searchFilterOf(kb: KnowledgeBase, sent: unknown): Filter {
  const columns = [...kb.storedMetadata.map(({ name }) => name), ...(kb.metadataColumns ?? [])]
  return filterOf(sent, { path: 'filters', depth: 0, keys: new Set(columns.map(nameKey)) })
}

interface Place {
  readonly path: string
  readonly depth: number
  readonly keys: ReadonlySet<string>
}

function filterOf(sent: unknown, place: Place): Filter {
  const { path, depth, keys } = place
  if (depth > DEPTH_MAX) throw wrong('filters', `may be nested ${DEPTH_MAX} levels deep`)
  if (!isObject(sent)) throw wrong(path, 'must be an object with "type"')
  const { type, key, value, filters } = sent
  if (type === 'and' || type === 'or') {
    if (!Array.isArray(filters) || filters.length === 0) {
      throw wrong(`${path}.filters`, 'must be a list of at least one filter')
    }
    const inner = filters.map((one, index) => {
      return filterOf(one, { path: `${path}.filters[${index}]`, depth: depth + 1, keys })
    })
    return { [type]: inner }
  }
  const operator = typeof type === 'string' && Object.hasOwn(OPERATORS, type) && OPERATORS[type]
  if (typeof operator !== 'string') {
    throw wrong(
      `${path}.type`,
      `must be one of ${[...Object.keys(OPERATORS), 'and', 'or'].join(', ')}`,
    )
  }
  if (typeof key !== 'string' || key === '') throw wrong(`${path}.key`, 'must be a text')
  checkValue(operator, value, path)
  if (!keys.has(nameKey(key))) return type === 'ne' || type === 'nin' ? ALL : NONE
  return { [`metadata.${key}`]: { [operator]: value } }
}

function checkValue(operator: string, value: unknown, path: string): void {
  const isList = operator === 'in' || operator === 'not_in'
  if (isList !== Array.isArray(value)) {
    throw wrong(`${path}.value`, isList ? 'must be a list' : 'must not be a list')
  }
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  const isPlain = values.every((one) => ['string', 'number', 'boolean'].includes(typeof one))
  if (!isPlain) throw wrong(`${path}.value`, 'must be a text, a number, true or false')
}

function wrong(path: string, what: string): AppError {
  return new AppError('invalid_request', `Field "${path}" ${what}`, { param: 'filters' })
}
