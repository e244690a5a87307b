/** Attributes and metadata as in OpenAI's API: few keys, short values. */
import { t } from 'elysia'
import {
  type Row,
  type RowValue,
  STANDARD_METADATA_KEYS,
  shownValue,
} from '../../../core/domain/document.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { nameKey } from '../../../core/domain/names.ts'
import { AppError } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'

export type Attributes = Readonly<Record<string, string | number | boolean>>

const PAIRS_MAX = 16
const KEY_CHARS_MAX = 64
const ATTRIBUTE_CHARS_MAX = 512

export const ATTRIBUTES_SCHEMA = t.Record(
  t.String(),
  t.Union([t.String(), t.Number(), t.Boolean()]),
  { description: 'Up to 16 keys of up to 64 characters, with values of up to 512' },
)

/** @throws AppError `invalid_request` */
export function checkedPairs(
  sent: Readonly<Record<string, unknown>> | null | undefined,
  param: 'attributes' | 'metadata',
): Attributes {
  const wrong = (what: string) => {
    return new AppError('invalid_request', `Field "${param}" ${what}`, { param })
  }
  const entries = Object.entries(sent ?? {})
  if (entries.length > PAIRS_MAX) throw wrong(`has at most ${PAIRS_MAX} keys`)
  for (const [key, value] of entries) {
    if (key === '' || key.length > KEY_CHARS_MAX) {
      throw wrong(`has keys of 1 to ${KEY_CHARS_MAX} characters`)
    }
    if (typeof value === 'string' && value.length > ATTRIBUTE_CHARS_MAX) {
      throw wrong(`has values of at most ${ATTRIBUTE_CHARS_MAX} characters; "${key}" has more`)
    }
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw wrong(`takes only strings, numbers, true and false; "${key}" is something else`)
    }
  }
  // Each entry was checked above.
  return Object.fromEntries(entries) as Attributes
}

/** They become metadata. @throws AppError `invalid_request` for values that cannot be stored */
export function checkedAttributes(
  kb: KnowledgeBase,
  sent: Readonly<Record<string, unknown>> | null | undefined,
): Attributes {
  const attributes = checkedPairs(sent, 'attributes')
  const taken = [kb.idColumn ?? 'id', 'id', ...(kb.contentColumns ?? ['content']), 'layout']
  const takenKeys = new Set(taken.map(nameKey))
  const columns = kb.metadataColumns && new Set(kb.metadataColumns.map(nameKey))
  const seen = new Set<string>()
  for (const key of Object.keys(attributes)) {
    const wrong = (what: string) => {
      return new AppError('invalid_request', `Attribute "${key}" ${what}`, { param: 'attributes' })
    }
    if (takenKeys.has(nameKey(key)))
      throw wrong('is the name of a document’s id or text: rename it')
    if (seen.has(nameKey(key))) throw wrong('occurs twice; case does not matter')
    seen.add(nameKey(key))
    if (columns !== null && !columns.has(nameKey(key))) {
      const there = kb.metadataColumns?.join(', ') || 'none'
      throw wrong(`is not a metadata column of ${kb.name}; there are: ${there}`)
    }
  }
  return attributes
}

/** Values other than strings, numbers and booleans become JSON. */
export function attributesOf(metadata: Row | Readonly<Record<string, unknown>>): Attributes {
  const shown: [string, string | number | boolean][] = []
  for (const [key, value] of Object.entries(metadata)) {
    // Stored values are always row values.
    const plain = shownValue(value as Row[string]) as RowValue
    if (plain === null || STANDARD_METADATA_KEYS.has(key)) continue
    const isPlain = typeof plain !== 'object'
    shown.push([key, isPlain ? plain : JSON.stringify(plain)])
  }
  return Object.fromEntries(shown)
}

type Filter = Readonly<Record<string, unknown>>

const FILTER_OPS: Readonly<Record<string, string>> = {
  eq: '=',
  ne: 'not',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  in: 'in',
  nin: 'not_in',
}

const FILTER_DEPTH_MAX = 8

const NO_FILTER: Filter = {}
const NO_ATTRIBUTES: Filter = { id: { in: [] } }

/** An unknown key matches nothing: a filter may be older than a file. @throws AppError */
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
  if (depth > FILTER_DEPTH_MAX)
    throw wrong('filters', `may be nested ${FILTER_DEPTH_MAX} levels deep`)
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
  const operator = typeof type === 'string' && Object.hasOwn(FILTER_OPS, type) && FILTER_OPS[type]
  if (typeof operator !== 'string') {
    throw wrong(
      `${path}.type`,
      `must be one of ${[...Object.keys(FILTER_OPS), 'and', 'or'].join(', ')}`,
    )
  }
  if (typeof key !== 'string' || key === '') throw wrong(`${path}.key`, 'must be a string')
  checkValue(operator, value, path)
  if (!keys.has(nameKey(key))) return type === 'ne' || type === 'nin' ? NO_FILTER : NO_ATTRIBUTES
  return { [`metadata.${key}`]: { [operator]: value } }
}

function checkValue(operator: string, value: unknown, path: string): void {
  const isList = operator === 'in' || operator === 'not_in'
  if (isList !== Array.isArray(value)) {
    throw wrong(`${path}.value`, isList ? 'must be a list' : 'must not be a list')
  }
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  const isPlain = values.every((one) => ['string', 'number', 'boolean'].includes(typeof one))
  if (!isPlain) throw wrong(`${path}.value`, 'must be a string, a number, true or false')
}

function wrong(path: string, what: string): AppError {
  return new AppError('invalid_request', `Field "${path}" ${what}`, { param: 'filters' })
}
