/** The statements by which PostgreSQL finds the nearest chunks and the best keyword hits. */
import { BM25, type KeywordSearch } from '../../core/domain/hybrid-search.ts'
import type { SourceSelect, SourceValue } from '../../core/domain/ports/engine-ports.ts'
import type { LeastRelevance } from '../../core/domain/ports/search-ports.ts'
import type { StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import { FOUND_COLUMNS } from './found-rows.ts'
import { listOf, selectEach } from './remote-rows.ts'
import { BASES, remoteTables } from './remote-tables.ts'

class Statement implements SourceSelect {
  sql = ''
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

export interface Searched {
  readonly place: StoragePlace
  /** Whether the vectors have a pgvector index. */
  readonly isIndexed: boolean
  /** The tables of the chunks, if they are spread over several nodes. */
  readonly parts: readonly string[]
  /** From which all of them are selected. */
  readonly chunks: string
  readonly condition: SourceSelect | null
}

export function nearestStatement(
  searched: Searched,
  { vector, fetched }: { readonly vector: Float32Array; readonly fetched: number },
): SourceSelect {
  const statement = new Statement(searched.condition)
  const wanted = { near: statement.vector(vector), dimensions: vector.length, fetched }
  const near = nearestSql(searched, statement, wanted)
  statement.sql = `WITH ${near} SELECT ${FOUND_COLUMNS}, n.distance
    FROM ${searched.chunks} AS c JOIN near AS n ON n.chunk_key = c.chunk_key
    WHERE c.chunk_key = ANY(ARRAY(SELECT chunk_key FROM near)) ORDER BY n.distance`
  return statement
}

/** Selects `FOUND_COLUMNS` of the chunks with the keys `$1`. */
export function rowsStatement({ chunks }: Searched): string {
  return `SELECT ${FOUND_COLUMNS} FROM ${chunks} AS c
    WHERE c.chunk_key = ANY($1::bigint[])`
}

/** pgvector's HNSW takes longer vectors only in half precision. */
const WHOLE_DIMENSIONS_MAX = 2000
const DIMENSIONS_MAX = 4000

/** The expression that an HNSW index orders by. */
function indexedVector(dimensions: number, vector: string): string {
  return dimensions > WHOLE_DIMENSIONS_MAX ? `(${vector}::halfvec(${dimensions}))` : vector
}

/** @throws AppError `invalid_request` for vectors that are too long */
export function hnswColumn(dimensions: number): string {
  if (dimensions > DIMENSIONS_MAX) {
    const message = `pgvector's HNSW index takes at most ${DIMENSIONS_MAX} dimensions, and these vectors have ${dimensions}`
    throw new AppError('invalid_request', `${message}; without an index, all are compared`)
  }
  const kind = dimensions > WHOLE_DIMENSIONS_MAX ? 'halfvec' : 'vector'
  return `${indexedVector(dimensions, 'vector')} ${kind}_cosine_ops`
}

/** The keys of the nearest. With all columns, sorting would take longer than measuring. */
function nearestSql(
  searched: Searched,
  { where }: Statement,
  {
    near,
    dimensions,
    fetched,
  }: { readonly near: string; readonly dimensions: number; readonly fetched: number },
): string {
  const compared = (vector: string) => {
    return searched.isIndexed ? indexedVector(dimensions, vector) : vector
  }
  const nearest = selectEach(searched, (table) => {
    return `SELECT chunk_key, ${compared('vector')} <=> ${compared(near)} AS distance FROM ${table}
      WHERE ${where} ORDER BY distance LIMIT ${fetched}`
  })
  // With MATERIALIZED, the nodes select at the same time.
  return `nearest AS MATERIALIZED (${nearest}),
    near AS MATERIALIZED (SELECT * FROM nearest ORDER BY distance LIMIT ${fetched})`
}

export interface ScaledRelevance extends LeastRelevance {
  /** Scores are divided by this. */
  readonly scoreBound: number
}

/** `FOUND_COLUMNS`, distance, score, whether it is a best or nearest, and a bound for scores. */
export function hybridStatement(
  searched: Searched,
  {
    keywordSearch,
    vector,
    hitCount,
    hitsFetched,
    fetched,
    relevance,
  }: {
    readonly keywordSearch: KeywordSearch
    readonly vector: Float32Array
    readonly hitCount: number
    readonly hitsFetched: number
    readonly fetched: number
    readonly relevance?: ScaledRelevance
  },
): SourceSelect {
  const { place, chunks, condition } = searched
  const { terms } = remoteTables(place)
  const statement = new Statement(condition)
  const { keys, counts } = keywordSearch.terms
  const wanted = statement.keys(keys)
  const uses = statement.value(listOf(counts), 'float8[]')
  const near = statement.vector(vector)
  const table = statement.value(place.table, 'text')
  const score = scoreOf(keys.map((_, index) => `(${wanted})[${index + 1}]`))
  const isWanted =
    relevance === undefined
      ? ''
      : `AND ${reaches(statement, relevance, { score, distance: `c.vector <=> ${near}` })}`
  // Rounding all of them would take as long as computing them.
  const hits = selectEach(searched, (table) => {
    return `SELECT c.chunk_key, ${score} AS score FROM ${table} AS c
      WHERE c.terms && ${wanted} AND (${statement.where}) ${isWanted} ORDER BY score DESC LIMIT ${hitsFetched}`
  })
  statement.sql = `WITH weights AS MATERIALIZED (
      SELECT q.place, s.term_total::float8 / s.chunk_count AS mean, q.uses * ln(1 +
          (s.chunk_count - coalesce(t.chunk_count, 0) + 0.5::float8)
          / (coalesce(t.chunk_count, 0) + 0.5::float8)) AS weight
        FROM unnest(${wanted}, ${uses}) WITH ORDINALITY AS q(term, uses, place)
          LEFT JOIN ${terms} AS t ON t.term = q.term, ${BASES} AS s WHERE s.name = ${table}),
    hits AS MATERIALIZED (${hits}),
    best AS MATERIALIZED (SELECT chunk_key, ${rounded('score')} AS score FROM hits
      ORDER BY score DESC FETCH FIRST ${hitCount} ROWS WITH TIES),
    ${nearestSql(searched, statement, { near, dimensions: vector.length, fetched })}
    SELECT ${FOUND_COLUMNS}, c.vector <=> ${near} AS distance, ${rounded(score)},
        b.chunk_key IS NOT NULL, n.chunk_key IS NOT NULL,
        (SELECT ${rounded(`sum(weight) * ${BM25.k1 + 1}`)} FROM weights)
      FROM ${chunks} AS c LEFT JOIN best AS b ON b.chunk_key = c.chunk_key
        LEFT JOIN near AS n ON n.chunk_key = c.chunk_key
      WHERE c.chunk_key = ANY(ARRAY(SELECT chunk_key FROM best UNION SELECT chunk_key FROM near))`
  return statement
}

/** Without `greatest`, which postgres_fdw does not send to the nodes. */
function reaches(
  statement: Statement,
  { alpha, least, scoreBound }: ScaledRelevance,
  { score, distance }: { readonly score: string; readonly distance: string },
): string {
  const weight = statement.value((1 - alpha) / scoreBound, 'float8')
  const wanted = statement.value(least, 'float8')
  const part = `${weight} * (${score})`
  const near = `${statement.value(alpha, 'float8')} * (1 - (${distance}))`
  return `(${part} >= ${wanted} OR ${part} + ${near} >= ${wanted})`
}

function rounded(value: string): string {
  return `round((${value})::numeric, ${BM25.scoreDigits})::float8`
}

/**
 * Returns the expression for a row's score from the table `weights`. It is one expression per term, because joining
 * rows with terms takes three times as long. `terms` ascend, so a binary search finds a term's place. The numbers are
 * float8, because PostgreSQL would compute with decimals otherwise. It uses CASE, because postgres_fdw does not send
 * coalesce to the nodes.
 */
function scoreOf(terms: readonly string[]): string {
  const { k1, b } = BM25
  const mean = '(SELECT mean FROM weights LIMIT 1)'
  const length = `${k1}::float8 * (${1 - b}::float8 + ${b}::float8 * c.term_count / ${mean})`
  const scores = terms.map((term, index) => {
    const weight = `(SELECT weight FROM weights WHERE place = ${index + 1})`
    const place = `width_bucket(${term}, c.terms)`
    const score = `${weight} * ${k1 + 1}::float8 / (1 + ${length} / c.frequencies[${place}])`
    return `CASE WHEN c.terms[${place}] = ${term} THEN ${score} ELSE 0 END`
  })
  return scores.length === 0 ? '0' : scores.join(' + ')
}
