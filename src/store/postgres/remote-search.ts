/** The nearest chunks and the best keyword hits of a knowledge base, by one statement in PostgreSQL. */
import { BM25, type KeywordSearch } from '../../core/domain/hybrid-search.ts'
import type { VectorIndexDefinition } from '../../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { SourceSelect, SourceValue } from '../../core/domain/ports/engine-ports.ts'
import type {
  KeywordHits,
  NearestChunk,
  NearestChunks,
  NearestFound,
  NearestSearch,
} from '../../core/domain/ports/search-ports.ts'
import type { RunRemote, StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import { listOf, ROW_COLUMNS, vectorOf } from './remote-rows.ts'
import { BASES, remoteTables } from './remote-tables.ts'

export interface RemotePlace {
  readonly place: StoragePlace
  readonly run: RunRemote
  /** Whether pgvector has an index of the vectors. */
  readonly isIndexed: boolean
  /** Takes the rows of found chunks. */
  found(rows: Awaited<ReturnType<RunRemote>>): void
  /** Has the rows of these chunks here while the work runs. */
  withRows<T>(keys: readonly bigint[], work: () => Promise<T>): Promise<T>
}

interface RemoteQuery extends RemotePlace {
  readonly search: NearestSearch
  readonly condition: SourceSelect | null
  readonly measure: Measure
}

/** The distance of two vectors, equal to the last bit to the one computed here: PostgreSQL rounds differently. */
type Measure = (one: Float32Array, other: Float32Array) => number

/**
 * With an index, PostgreSQL scans on in order until enough rows meet the conditions. Compiling a statement takes longer
 * than running it.
 */
export const SEARCH_SETTINGS = `SET LOCAL hnsw.iterative_scan = strict_order;
  SET LOCAL hnsw.max_scan_tuples = 2147483647; SET LOCAL hnsw.ef_search = 100; SET LOCAL jit = off`

/** The searches of knowledge bases without a copy here. */
export function remoteSearches(
  remoteOf: (kb: KnowledgeBase) => RemotePlace,
  measure: Measure,
): NearestChunks {
  return {
    async nearest(search) {
      const remote = remoteOf(search.knowledgeBase)
      const condition = (await search.condition?.()) ?? null
      return searchRemote({ ...remote, search, condition, measure })
    },
    access(kb) {
      const how = remoteOf(kb).isIndexed ? 'by its HNSW index' : 'which measures all vectors'
      return { kind: 'memory', detail: `those in PostgreSQL (${kb.vectorDatabase}), ${how}` }
    },
  }
}

/** Exactly the chunks found by measuring all of them in PostgreSQL, and those equal to the last. */
async function searchRemote(query: RemoteQuery): Promise<NearestFound> {
  const { withRows } = query
  const { queryVector, keywordSearch } = query.search
  // As of the request: later writes are found by the next search.
  const isCurrent = () => true
  if (keywordSearch === undefined) {
    return { neighbours: await nearestOf(query, queryVector), withRows, isCurrent }
  }
  const { neighbours, keywordHits } = await hybridOf(query, {
    keywordSearch,
    vector: queryVector,
  })
  const feedback: NearestFound['feedback'] = {
    vectorsOf: (keys) => vectorsOf(query, keys),
    async searchBy(vector) {
      // A score does not depend on the vector: only those of other neighbours are new.
      const other = await hybridOf(query, { keywordSearch, vector, hitCount: 0 })
      const near = new Set(other.neighbours.map(({ key }) => key))
      const earlier = [...neighbours, ...keywordHits.best].map(({ key }) => key)
      const others = [...new Set(earlier)].filter((key) => !near.has(key))
      const measured = await distancesOf(query, others, vector)
      const scoresOf = (keys: readonly bigint[]) => {
        const known = keywordHits.scoresOf(keys)
        return other.keywordHits
          .scoresOf(keys)
          .map((score, index) => Math.max(score, known[index] ?? 0))
      }
      const isNeighbour = new Set(neighbours.map(({ key }) => key))
      return {
        neighbours: [...other.neighbours, ...measured.filter(({ key }) => isNeighbour.has(key))],
        keywordHits: {
          ...other.keywordHits,
          best: keywordHits.best,
          bestOf: keywordHits.bestOf,
          scoresOf,
        },
      }
    },
  }
  return { neighbours, keywordHits, feedback, withRows, isCurrent }
}

/** Text of a statement, with the values of its placeholders. */
class Statement {
  readonly values: SourceValue[]
  /** A condition on the rows of chunks. */
  readonly where: string

  constructor(condition: SourceSelect | null) {
    this.values = [...(condition?.values ?? [])]
    this.where = condition === null || condition.sql === '' ? 'true' : condition.sql
  }

  value(value: SourceValue, type: string): string {
    this.values.push(value)
    return `$${this.values.length}::${type}`
  }

  vector(vector: Float32Array): string {
    return this.value(`[${vector.join(',')}]`, 'vector')
  }

  keys(keys: readonly bigint[]): string {
    return this.value(listOf(keys), 'bigint[]')
  }
}

/** More than requested, because rounding may decide among them. */
const EXTRA = 16

/** A row of an answer that begins with `ROW_COLUMNS, distance`. */
interface FoundRow extends NearestChunk {
  readonly vector: Float32Array
}

const VECTOR_PLACE = ROW_COLUMNS.indexOf('vector')
/** The column after those of a row. */
const DISTANCE_PLACE = ROW_COLUMNS.length

function foundRow(row: readonly (string | null)[]): FoundRow {
  const distance = Number(row[DISTANCE_PLACE])
  return { key: BigInt(row[0] ?? 0), distance, vector: vectorOf(row[VECTOR_PLACE]) }
}

/**
 * The nearest, measured here, of at least `fetched` rows or all, nearest first by PostgreSQL.
 * @returns null if rows that were not fetched may be among them
 */
function exactlyNearest(
  { search, measure }: RemoteQuery,
  found: readonly FoundRow[],
  vector: Float32Array,
  fetched: number,
): readonly NearestChunk[] | null {
  const { count } = search
  const [wanted, last] = [found[count - 1], found.at(-1)]
  // Each of the two is off by at most half of this.
  const margin = 4 * (vector.length + 2) * 2 ** -24
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
  const { place, search, run, condition } = query
  const statement = new Statement(condition)
  const fetched = search.count + extra
  const sql = `SELECT ${ROW_COLUMNS.join(', ')}, vector <=> ${statement.vector(vector)} AS distance
    FROM ${remoteTables(place).chunks} WHERE ${statement.where}
    ORDER BY distance FETCH FIRST ${fetched} ROWS WITH TIES`
  const rows = await run(sql, statement.values)
  query.found(rows)
  const nearest = exactlyNearest(query, rows.map(foundRow), vector, fetched)
  return nearest ?? nearestOf(query, vector, extra * 4)
}

interface HybridQuery {
  readonly keywordSearch: KeywordSearch
  readonly vector: Float32Array
  /** The number of best hits requested. */
  readonly hitCount?: number
  readonly extra?: number
}

async function hybridOf(
  query: RemoteQuery,
  hybrid: HybridQuery,
): Promise<{ readonly neighbours: readonly NearestChunk[]; readonly keywordHits: KeywordHits }> {
  const { search, run, measure } = query
  const { vector, keywordSearch, hitCount = keywordSearch.count, extra = EXTRA } = hybrid
  const fetched = search.count + extra
  const statement = hybridStatement(query, { ...hybrid, hitCount, fetched })
  const rows = await run(statement.sql, statement.values)
  query.found(rows)
  const found = rows.map((row) => {
    const [score, isBest, isNear, bound] = row.slice(DISTANCE_PLACE + 1)
    const is = { isBest: isBest === 't', isNear: isNear === 't' }
    return { ...foundRow(row), ...is, score: Number(score), bound: Number(bound) }
  })
  const near = found.filter(({ isNear }) => isNear)
  const neighbours = exactlyNearest(query, near, vector, fetched)
  if (neighbours === null) return hybridOf(query, { ...hybrid, extra: extra * 4 })
  const known = new Map(found.map((one) => [one.key, one]))
  const best = found.filter(({ isBest }) => isBest).sort((one, other) => other.score - one.score)
  const keywordHits: KeywordHits = {
    best: best.map(({ key, score }) => ({ key, score })),
    scoreBound: found[0]?.bound ?? 0,
    scoresOf: (asked) => asked.map((key) => known.get(key)?.score ?? 0),
    async bestOf(more) {
      return (await hybridOf(query, { ...hybrid, hitCount: more })).keywordHits.best
    },
    async distancesOf(asked) {
      const here = asked.flatMap((key) => known.get(key) ?? [])
      const others = asked.filter((key) => !known.has(key))
      const measured = here.map(({ key, vector: own }) => ({ key, distance: measure(own, vector) }))
      return [...measured, ...(await distancesOf(query, others, vector))]
    },
  }
  return { neighbours, keywordHits }
}

/** The nearest and the best hits, each with its distance and score, and a bound for all other scores. */
function hybridStatement(
  { place, condition }: RemoteQuery,
  {
    keywordSearch,
    vector,
    hitCount,
    fetched,
  }: HybridQuery & { readonly hitCount: number; readonly fetched: number },
): { readonly sql: string; readonly values: readonly SourceValue[] } {
  const { chunks, terms } = remoteTables(place)
  const statement = new Statement(condition)
  const { keys, counts } = keywordSearch.terms
  const wanted = statement.keys(keys)
  const uses = statement.value(listOf(counts), 'float8[]')
  const near = statement.vector(vector)
  const table = statement.value(place.table, 'text')
  const { k1, b, scoreDigits } = BM25
  const rounded = (value: string) => `round((${value})::numeric, ${scoreDigits})::float8`
  const length = `${k1} * (${1 - b} + ${b} * c.term_count / (SELECT mean FROM weights LIMIT 1))`
  // Each term in an expression of its own: joining rows with terms takes three times as long.
  const parts = keys.map((_, index) => {
    const weight = `(SELECT weight FROM weights WHERE place = ${index + 1})`
    const frequency = `c.frequencies[array_position(c.terms, (${wanted})[${index + 1}])]`
    return `coalesce(${weight} * ${k1 + 1} / (1 + ${length} / ${frequency}), 0)`
  })
  const score = parts.length === 0 ? '0' : rounded(parts.join(' + '))
  const columns = ROW_COLUMNS.map((name) => `c.${name}`)
  const sql = `WITH weights AS MATERIALIZED (
      SELECT q.place, s.term_total::float8 / s.chunk_count AS mean, q.uses * ln(1 +
          (s.chunk_count - coalesce(t.chunk_count, 0) + 0.5::float8)
          / (coalesce(t.chunk_count, 0) + 0.5::float8)) AS weight
        FROM unnest(${wanted}, ${uses}) WITH ORDINALITY AS q(term, uses, place)
          LEFT JOIN ${terms} AS t ON t.term = q.term, ${BASES} AS s WHERE s.name = ${table}),
    best AS MATERIALIZED (SELECT c.chunk_key, ${score} AS score FROM ${chunks} AS c
      WHERE c.terms && ${wanted} AND (${statement.where})
      ORDER BY score DESC FETCH FIRST ${hitCount} ROWS WITH TIES),
    near AS MATERIALIZED (SELECT chunk_key, vector <=> ${near} AS distance FROM ${chunks}
      WHERE ${statement.where} ORDER BY distance FETCH FIRST ${fetched} ROWS WITH TIES)
    SELECT ${columns.join(', ')}, c.vector <=> ${near} AS distance, ${score},
        b.chunk_key IS NOT NULL, n.chunk_key IS NOT NULL,
        (SELECT ${rounded(`sum(weight) * ${k1 + 1}`)} FROM weights)
      FROM ${chunks} AS c LEFT JOIN best AS b ON b.chunk_key = c.chunk_key
        LEFT JOIN near AS n ON n.chunk_key = c.chunk_key
      WHERE c.chunk_key IN (SELECT chunk_key FROM best UNION SELECT chunk_key FROM near)
      ORDER BY distance`
  return { sql, values: statement.values }
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
  { place, run }: RemoteQuery,
  keys: readonly bigint[],
): Promise<ReadonlyMap<bigint, Float32Array>> {
  if (keys.length === 0) return new Map()
  const rows = await run(
    `SELECT chunk_key, vector FROM ${remoteTables(place).chunks} WHERE chunk_key = ANY($1::bigint[])`,
    [listOf(keys)],
  )
  return new Map(rows.map(([key, vector]) => [BigInt(key ?? 0), vectorOf(vector)]))
}

/** @throws AppError `invalid_request` for a type that PostgreSQL does not have */
export async function indexRemote(
  run: RunRemote,
  place: StoragePlace,
  definition: VectorIndexDefinition | null,
): Promise<void> {
  const { chunks, index } = remoteTables(place)
  if (definition?.type === 'ivf') {
    const message =
      'In PostgreSQL an index is of the type hnsw; without one all vectors are compared'
    throw new AppError('invalid_request', message)
  }
  await run(`DROP INDEX IF EXISTS ${index}`)
  if (definition?.type !== 'hnsw') return
  const { m = 16, ef_construction: construction = 128 } = definition.options
  await run(`CREATE INDEX ${quote(`${place.table}:hnsw`)} ON ${chunks}
    USING hnsw (vector vector_cosine_ops) WITH (m = ${m}, ef_construction = ${construction})`)
}
