/** Returns the chunks behind points of a map, and values for colouring the points. */

import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { nameKey, quote } from '../../core/domain/names.ts'
import type { StoredChunk } from '../../core/domain/ports/document-ports.ts'
import type { ChunkMap } from '../../core/domain/ports/search-ports.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { CHUNK_KEY } from '../../sql/search/ranking.ts'
import { quotedName, selectChunks } from '../search/chunk-search.ts'
import type { QueryDeps } from '../select/query-deps.ts'

/** What to colour points by: a column, or the similarity to a text. */
export type MapValuesOf =
  | { readonly kind: 'column'; readonly column: string }
  | { readonly kind: 'query'; readonly query: string }

/** A value per point, in the order of the points. */
export type MapValues =
  | {
      readonly kind: 'categories'
      /** Most frequent value first. */
      readonly values: readonly { readonly value: string; readonly count: number }[]
      /** For each point, the index of its value in `values` plus 1, or 0 for none. */
      readonly codes: Uint32Array
    }
  /** NaN means no value. Times are milliseconds since 1970. */
  | { readonly kind: 'numbers' | 'times'; readonly numbers: Float64Array }

/** Values are truncated to this length, because a legend shows them. */
const POINT_VALUE_CHARS_MAX = 200

/** A high LIMIT, because a search without one returns only the best few. */
const ALL_ROWS = 1_000_000_000

const NUMBER_TYPE = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|REAL|DECIMAL.*)$/i
const TIME_TYPE = /^(?:DATE|TIMESTAMP.*)$/i

/** @throws AppError `invalid_request` for an unknown column, those of `runSelect` */
export async function mapValues(
  { kb, map }: { readonly kb: KnowledgeBase; readonly map: ChunkMap },
  of: MapValuesOf,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<MapValues> {
  const found = of.kind === 'query' ? NEARNESS : expressionOf(kb, of.column)
  const searched = of.kind === 'query' ? ` WHERE content = :query LIMIT ${ALL_ROWS}` : ''
  const sql = `SELECT ${CHUNK_KEY}, ${found.sql} FROM ${quotedName(kb)}${searched}`
  const params = of.kind === 'query' ? { query: of.query } : {}
  const request = { sql, params, readsChunkKeys: true }
  const pointOf = new Map(Array.from(map.keys, (key, point) => [Number(key), point]))
  const values = new Array<ResultValue>(map.keys.length).fill(null)
  for await (const batch of (await selectChunks(kb, request, deps, signal)).batches) {
    for (const [key, value = null] of batch) {
      const point = pointOf.get(Number(key))
      if (point !== undefined) values[point] = value
    }
  }
  if (found.kind === 'numbers' || found.kind === 'times') {
    const numbers = values.map((value) => (value === null ? Number.NaN : Number(value)))
    return { kind: found.kind, numbers: Float64Array.from(numbers) }
  }
  const categories = categoriesOf(values)
  return found.kind === 'ids' ? categories : (timesOf(categories) ?? categories)
}

interface ValueExpression {
  /** Ids are shown as categories, even if they look like dates. */
  readonly kind: MapValues['kind'] | 'ids'
  readonly sql: string
}

/** Similarity: 1 for the same direction, 0 for a right angle. */
const NEARNESS: ValueExpression = { kind: 'numbers', sql: '1 - distance' }

function expressionOf(kb: KnowledgeBase, column: string): ValueExpression {
  if (nameKey(column) === 'id') return { kind: 'ids', sql: 'id' }
  const known = kb.storedMetadata.find(({ name }) => nameKey(name) === nameKey(column))
  if (known !== undefined) return expressionOfColumn(known)
  const names = ['id', ...kb.storedMetadata.map(({ name }) => name)].join(', ')
  const message = `Parameter "column" names no column of ${kb.name}; there are: ${names}`
  throw new AppError('invalid_request', message, { param: 'column' })
}

function expressionOfColumn({ name, type }: MetadataColumn): ValueExpression {
  if (NUMBER_TYPE.test(type)) return { kind: 'numbers', sql: `CAST(${quote(name)} AS DOUBLE)` }
  if (TIME_TYPE.test(type)) {
    return { kind: 'times', sql: `epoch_ms(CAST(${quote(name)} AS TIMESTAMP))` }
  }
  const text = `left(CAST(${quote(name)} AS VARCHAR), ${POINT_VALUE_CHARS_MAX})`
  return { kind: 'categories', sql: text }
}

type Categories = Extract<MapValues, { kind: 'categories' }>

/** By frequency: the most common values get the most distinct colours. */
function categoriesOf(shown: readonly ResultValue[]): Categories {
  const points = Map.groupBy(shown.keys(), (point) => shown[point] ?? null)
  points.delete(null)
  const sorted = [...points].toSorted(([, a], [, b]) => b.length - a.length)
  const codes = new Uint32Array(shown.length)
  for (const [place, [, own]] of sorted.entries()) for (const point of own) codes[point] = place + 1
  const values = sorted.map(([value, own]) => ({ value: String(value), count: own.length }))
  return { kind: 'categories', values, codes }
}

/** A date with or without a time. In JSON, dates are texts. */
const DATE_TEXT = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.{0,24})?$/

const DAY_CHARS = 10
const ZONE = /(?:Z|[+-]\d{2}(?::?\d{2})?)$/i

/** Null unless all values are dates, and there is one. */
function timesOf({ values, codes }: Categories): MapValues | null {
  const times = values.map(({ value }) => timeOf(value))
  if (times.length === 0 || times.some(Number.isNaN)) return null
  return {
    kind: 'times',
    numbers: Float64Array.from(codes, (code) => times[code - 1] ?? Number.NaN),
  }
}

/** In milliseconds since 1970; NaN for another text. */
function timeOf(text: string): number {
  if (!DATE_TEXT.test(text)) return Number.NaN
  // A time without a zone is UTC, as in the database.
  const isWithoutZone = text.length > DAY_CHARS && !ZONE.test(text)
  return Date.parse(`${text.replace(' ', 'T')}${isWithoutZone ? 'Z' : ''}`)
}

/** null for deleted ones. @throws AppError `invalid_request` for an unknown point */
export async function chunksOfPoints(
  { kb, map }: { readonly kb: KnowledgeBase; readonly map: ChunkMap },
  points: readonly number[],
  deps: QueryDeps,
): Promise<readonly (StoredChunk | null)[]> {
  const keys = points.map((point) => {
    const key = map.keys[point]
    if (key !== undefined) return key
    const what = `names the point ${point}; the map has ${map.keys.length}, counted from 0`
    throw new AppError('invalid_request', `Parameter "points" ${what}`, { param: 'points' })
  })
  const chunks = await deps.documents.chunks(kb, [...new Set(keys)])
  const byKey = new Map(chunks.map((chunk) => [chunk.key, chunk]))
  return keys.map((key) => byKey.get(key) ?? null)
}
