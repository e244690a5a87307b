/**
 * Finds the nearest chunks and the best keyword hits of a knowledge base with one PostgreSQL
 * statement.
 */
import {
  areEnoughHits,
  type KeywordHit,
  type KeywordSearch,
  PART_CHUNKS,
} from '../../core/domain/hybrid-search.ts'
import type { VectorIndexDefinition } from '../../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { RunLimits } from '../../core/domain/ports/engine-ports.ts'
import type {
  KeywordHits,
  NearestChunk,
  NearestChunks,
  NearestFound,
  NearestSearch,
} from '../../core/domain/ports/search-ports.ts'
import type { RunRemote, StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import { DAY_MS } from '../../core/time.ts'
import { DISTANCE_PLACE, type FoundRow, FoundRows } from './found-rows.ts'
import { listOf } from './remote-rows.ts'
import { remoteState, remoteTables } from './remote-tables.ts'
import {
  hnswColumn,
  hybridStatement,
  nearestStatement,
  rowsStatement,
  type ScaledRelevance,
  type Searched,
} from './search-statements.ts'

export interface RemotePlace extends Omit<Searched, 'condition'> {
  readonly run: RunRemote
  /** Makes the rows of these chunks available here while the work runs. */
  withRows<T>(keys: readonly bigint[], work: () => Promise<T>, chunks?: string): Promise<T>
}

/** What can end the statements of a search early. */
export interface SearchEnd {
  readonly signal?: AbortSignal
  readonly limits?: RunLimits
  /** How many of the nearest are fetched. */
  readonly nearCount?: number
}

interface RemoteQuery extends RemotePlace, Searched {
  readonly search: NearestSearch
  readonly measure: Measure
  /** All that its statements have found. */
  readonly known: FoundRows
}

/** As exact local searches do, because PostgreSQL rounds differently. */
type Measure = (one: Float32Array, other: Float32Array) => number

/** PostgreSQL keeps scanning until enough rows match. JIT compiles longer than it runs. */
export const SEARCH_SETTINGS = {
  'hnsw.iterative_scan': "'strict_order'",
  'hnsw.max_scan_tuples': "'2147483647'",
  jit: "'off'",
}

/** Without this, PostgreSQL may sort here, for which all rows would have to come from the nodes. */
export const SPREAD_SETTINGS = { ...SEARCH_SETTINGS, enable_sort: "'off'" }

const EF_SEARCH = { min: 100, max: 1000 }

/** @param nearCount If the index looks at fewer candidates, it has to scan again for the others. */
export function efSearch(nearCount = 0): Readonly<Record<string, string>> {
  const count = Math.min(EF_SEARCH.max, Math.max(EF_SEARCH.min, nearCount))
  return { 'hnsw.ef_search': `'${count}'` }
}

export function remoteSearches(
  remoteOf: (kb: KnowledgeBase, until?: SearchEnd) => RemotePlace,
  measure: Measure,
): NearestChunks {
  return {
    async nearest(search, signal) {
      const { knowledgeBase, limits, count } = search
      const remote = remoteOf(knowledgeBase, { signal, limits, nearCount: count + EXTRA })
      const condition = (await search.condition?.(remote.parts.length > 0)) ?? null
      const known = new FoundRows(search.knowledgeBase)
      const query = { ...remote, search, condition, measure, known }
      if (search.allowsPartial !== true || remote.parts.length === 0) return searchRemote(query)
      return searchRemote(query).catch((error) => searchReachable(query, signal, error))
    },
    access(kb) {
      const how = remoteOf(kb).isIndexed ? 'by its HNSW index' : 'which measures all vectors'
      return { kind: 'memory', detail: `those in PostgreSQL (${kb.vectorDatabase}), ${how}` }
    },
  }
}

/** Returns the same chunks, including ties, as comparing all vectors in PostgreSQL. */
async function searchRemote(query: RemoteQuery): Promise<NearestFound> {
  const { withRows, search, known } = query
  const { queryVector: vector, keywordSearch } = search
  const found = {
    withRows,
    shown: known.shown.bind(known),
    // The search sees the state at its request. Later writes are found by the next search.
    isCurrent: () => true,
  }
  if (keywordSearch === undefined) return { ...found, neighbours: await nearestOf(query, vector) }
  const { neighbours, keywordHits } = await firstOf(query, { keywordSearch, vector })
  const feedback: NearestFound['feedback'] = {
    vectorsOf: (keys) => vectorsOf(query, keys),
    async searchBy(moved) {
      const other = await hybridOf(query, { keywordSearch, vector: moved, hitCount: 0 })
      const near = new Set(other.neighbours.map(({ key }) => key))
      const others = neighbours.map(({ key }) => key).filter((key) => !near.has(key))
      const measured = await distancesOf(query, others, moved)
      const hits = { ...other.keywordHits, best: keywordHits.best }
      return { neighbours: [...other.neighbours, ...measured], keywordHits: hits }
    },
  }
  return { ...found, neighbours, keywordHits, feedback }
}

/** Searches by keywords alone if the hits may be enough, and otherwise for the nearest as well. */
async function firstOf(query: RemoteQuery, hybrid: HybridQuery) {
  const { keywordSearch } = hybrid
  if (keywordSearch.enoughCount !== null) {
    const hits = await hybridOf(query, { ...hybrid, nearCount: 0 })
    if (areEnoughHits(hits.keywordHits.best, keywordSearch)) return hits
  }
  return hybridOf(query, hybrid)
}

/** Leaves out the nodes that cannot be reached. @throws `failure` if that is none, or all */
async function searchReachable(
  query: RemoteQuery,
  signal: AbortSignal,
  failure: unknown,
): Promise<NearestFound> {
  signal.throwIfAborted()
  const { parts: all, withRows } = query
  const asked = await Promise.allSettled(
    all.map((part) => query.run(`SELECT FROM ${part} LIMIT 1`)),
  )
  const failures = asked.filter((one) => one.status === 'rejected')
  const parts = all.filter((_, index) => asked[index]?.status === 'fulfilled')
  if (parts.length === 0 || failures.length === 0) throw failure
  const chunks = `(${parts.map((part) => `SELECT * FROM ${part}`).join(' UNION ALL ')})`
  const found = await searchRemote({
    ...query,
    parts,
    chunks,
    withRows: (keys, work) => withRows(keys, work, chunks),
  })
  const why = new Set(
    failures.map(({ reason }) => (reason instanceof Error ? reason.message : String(reason))),
  )
  const what = `Partial results: ${failures.length} of ${all.length} nodes were left out`
  return { ...found, warnings: [`${what}: ${[...why].join('; ')}`] }
}

/**
 * Fetch this many more rows than requested, because rounding differences may change their order.
 */
const EXTRA = 16

/** PostgreSQL's and the local distance may each be off by half of this. */
const marginOf = (vector: Float32Array) => 4 * (vector.length + 2) * 2 ** -24

/** Of at least `fetched` rows, in PostgreSQL's order. @returns null if others may be nearer */
function exactlyNearest(
  { search, measure }: RemoteQuery,
  found: readonly FoundRow[],
  vector: Float32Array,
  fetched: number,
): readonly NearestChunk[] | null {
  const { count } = search
  const [wanted, last] = [found[count - 1], found.at(-1)]
  const margin = marginOf(vector)
  const isCut = wanted !== undefined && last !== undefined && found.length >= fetched
  if (isCut && last.distance <= wanted.distance + margin) return null
  const measured = found.map(({ key, vector: own }) => ({ key, distance: measure(own, vector) }))
  measured.sort((one, other) => one.distance - other.distance)
  const limit = measured[count - 1]?.distance ?? Number.POSITIVE_INFINITY
  return measured.filter(({ distance }) => distance <= limit)
}

async function nearestOf(
  query: RemoteQuery,
  vector: Float32Array,
  extra = EXTRA,
): Promise<readonly NearestChunk[]> {
  const fetched = query.search.count + extra
  const { sql, values } = nearestStatement(query, { vector, fetched })
  const rows = await query.run(sql, values)
  const found = rows.map((row) => query.known.add(row))
  const measured = exactlyNearest(query, found, vector, fetched)
  return measured ?? nearestOf(query, vector, extra * 4)
}

interface HybridQuery {
  readonly keywordSearch: KeywordSearch
  readonly vector: Float32Array
  readonly hitCount?: number
  /** 0: without neighbours. */
  readonly nearCount?: number
  readonly extra?: number
  /** Only hits of this relevance are fetched. */
  readonly relevance?: ScaledRelevance
}

async function hybridOf(
  query: RemoteQuery,
  hybrid: HybridQuery,
): Promise<{ readonly neighbours: readonly NearestChunk[]; readonly keywordHits: KeywordHits }> {
  const { search, run, known } = query
  const { vector, keywordSearch, nearCount = search.count, extra = EXTRA } = hybrid
  const { hitCount = Math.max(keywordSearch.count, PART_CHUNKS) } = hybrid
  const fetched = nearCount === 0 ? 0 : nearCount + extra
  const needsTies = keywordSearch.fusion !== 'convex'
  const hitsFetched = needsTies && hitCount > 0 ? hitCount + extra : hitCount
  const wanted = { ...hybrid, hitCount, hitsFetched, fetched }
  const { sql, values } = hybridStatement(query, wanted)
  const rows = await run(sql, values)
  const best: KeywordHit[] = []
  const near: FoundRow[] = []
  for (const row of rows) {
    const found = known.add(row)
    const [isBest, isNear] = row.slice(DISTANCE_PLACE + 2)
    if (isBest === 't') best.push(found)
    if (isNear === 't') near.push(found)
  }
  best.sort((one, other) => other.score - one.score)
  // Not in PostgreSQL, where sorting would keep several nodes from answering at the same time.
  near.sort((one, other) => one.distance - other.distance)
  const neighbours = exactlyNearest(query, near, vector, fetched)
  // If all requested rows came back, rows beyond the last may have the same score.
  if (neighbours === null || (needsTies && best.length > 0 && best.length >= hitsFetched)) {
    return hybridOf(query, { ...hybrid, extra: extra * 4 })
  }
  const scoreBound = Number(rows[0]?.at(-1) ?? 0)
  const keywordHits: KeywordHits = {
    best: best.map(({ key, score }) => ({ key, score })),
    scoreBound,
    scoresOf: (asked) => asked.map((key) => known.get(key)?.score ?? 0),
    async bestOf(count, _, { alpha, least }) {
      const relevance = { alpha, least: least - marginOf(vector), scoreBound }
      const deeper = { ...hybrid, hitCount: count, nearCount: 0, relevance }
      return (await hybridOf(query, deeper)).keywordHits.best
    },
    distancesOf: (asked) => distancesOf(query, asked, vector),
  }
  return { neighbours, keywordHits }
}

async function distancesOf(
  query: RemoteQuery,
  keys: readonly bigint[],
  vector: Float32Array,
): Promise<readonly NearestChunk[]> {
  const vectors = await vectorsOf(query, keys)
  return [...vectors].map(([key, own]) => ({ key, distance: query.measure(own, vector) }))
}

async function vectorsOf(
  query: RemoteQuery,
  keys: readonly bigint[],
): Promise<ReadonlyMap<bigint, Float32Array>> {
  const { known, run } = query
  const missing = keys.filter((key) => known.get(key) === undefined)
  if (missing.length > 0) {
    for (const row of await run(rowsStatement(query), [listOf(missing)])) known.add(row)
  }
  const vectors = keys.map((key) => [key, known.get(key)?.vector] as const)
  return new Map(vectors.flatMap(([key, vector]) => (vector ? [[key, vector]] : [])))
}

/** Creating an index for a million chunks takes longer than all other work. */
export const INDEX_LIMITS: RunLimits = { timeoutMs: DAY_MS }

/** @throws AppError `invalid_request` for another index type, or chunks on several nodes */
export async function indexRemote(
  run: RunRemote,
  place: StoragePlace,
  definition: VectorIndexDefinition | null,
): Promise<void> {
  const { chunks, index } = remoteTables(place)
  const { parts, dimensions } = await remoteState(run, place)
  if (parts.length > 0) {
    const how = 'create or drop it with deploy/postgres-nodes/index.sh'
    throw new AppError(
      'invalid_request',
      `The chunks are on several nodes, and so is an index: ${how}`,
    )
  }
  if (definition?.type === 'ivf') {
    const message =
      'In PostgreSQL an index is of the type hnsw; without one all vectors are compared'
    throw new AppError('invalid_request', message)
  }
  await run(`DROP INDEX IF EXISTS ${index}`)
  if (definition?.type !== 'hnsw') return
  const { m = 16, ef_construction: construction = 128 } = definition.options
  await run(`CREATE INDEX ${quote(`${place.table}:hnsw`)} ON ${chunks}
    USING hnsw (${hnswColumn(dimensions ?? 0)}) WITH (m = ${m}, ef_construction = ${construction})`)
}
