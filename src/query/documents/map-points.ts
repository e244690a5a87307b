/** Returns the chunks behind points of a map, and values for colouring the points. */

import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { nameKey, quote } from '../../core/domain/names.ts'
import type { StoredChunk } from '../../core/domain/ports/document-ports.ts'
import type { ChunkMap } from '../../core/domain/ports/search-ports.ts'
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
  const values = collectorOf(found, map)
  for await (const batch of (await selectChunks(kb, request, deps, signal)).batches) {
    for (const [key, value = null] of batch) {
      const point = pointOf.get(Number(key))
      if (point !== undefined && value !== null) values.set(point, value)
    }
  }
  return values.all()
}

function collectorOf({ kind }: ValueExpression, map: ChunkMap): Categories | Numbers {
  if (kind === 'numbers' || kind === 'times') return new Numbers(map, kind)
  return new Categories(map, kind === 'categories')
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

class Numbers {
  readonly #numbers: Float64Array
  readonly #kind: 'numbers' | 'times'

  constructor({ keys }: ChunkMap, kind: 'numbers' | 'times') {
    this.#numbers = new Float64Array(keys.length).fill(Number.NaN)
    this.#kind = kind
  }

  set(point: number, value: unknown): void {
    this.#numbers[point] = Number(value)
  }

  all(): MapValues {
    return { kind: this.#kind, numbers: this.#numbers }
  }
}

class Categories {
  readonly #codes: Uint32Array
  readonly #known = new Map<string, { readonly code: number; count: number }>()

  readonly #mayBeTimes: boolean

  constructor({ keys }: ChunkMap, mayBeTimes: boolean) {
    this.#codes = new Uint32Array(keys.length)
    this.#mayBeTimes = mayBeTimes
  }

  set(point: number, shown: unknown): void {
    const value = String(shown)
    const known = this.#known.get(value) ?? { code: this.#known.size, count: 0 }
    known.count += 1
    this.#known.set(value, known)
    this.#codes[point] = known.code + 1
  }

  /** By frequency: the most common get the most distinct colours. Dates count as times. */
  all(): MapValues {
    const times = this.#mayBeTimes ? timesOf([...this.#known.keys()]) : null
    if (times !== null) return { kind: 'times', numbers: this.#numbersOf(times) }
    const sorted = [...this.#known].sort(([, a], [, b]) => b.count - a.count || a.code - b.code)
    const placeOf = new Uint32Array(sorted.length + 1)
    for (const [place, [, { code }]] of sorted.entries()) placeOf[code + 1] = place + 1
    return {
      kind: 'categories',
      values: sorted.map(([value, { count }]) => ({ value, count })),
      codes: this.#codes.map((code) => placeOf[code] ?? 0),
    }
  }

  /** @param byCode the numeric form of each distinct value */
  #numbersOf(byCode: readonly number[]): Float64Array {
    return Float64Array.from(this.#codes, (code) => byCode[code - 1] ?? Number.NaN)
  }
}

/** A date with or without a time. In JSON, dates are texts. */
const DATE_TEXT = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.{0,24})?$/

const DAY_CHARS = 10
const ZONE = /(?:Z|[+-]\d{2}(?::?\d{2})?)$/i

/** Returns milliseconds since 1970 if all values are dates. */
function timesOf(values: readonly string[]): readonly number[] | null {
  if (!values.every((value) => DATE_TEXT.test(value))) return null
  const times = values.map((value) => {
    // A time without a zone is UTC, as in the database.
    const isWithoutZone = value.length > DAY_CHARS && !ZONE.test(value)
    return Date.parse(`${value.replace(' ', 'T')}${isWithoutZone ? 'Z' : ''}`)
  })
  return times.length > 0 && times.every(Number.isFinite) ? times : null
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
