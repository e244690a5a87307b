/** The sub-query that takes the place of a knowledge base's name. */
import { chunkTables } from '../domain/chunk-tables.ts'
import { quote } from '../domain/identifier.ts'
import { KNOWLEDGE_BASE_COLUMNS, type KnowledgeBase } from '../domain/knowledge-base.ts'
import { COLUMN_SEARCH_COLUMNS, columnRankingOf, unmeasuredChunks } from './column-search.ts'
import {
  type Exclusion,
  excludedColumn,
  type Ranking,
  type Search,
  termsParameter,
  textsOfRanking,
  vectorParameter,
} from './ranking.ts'

/** The cosine similarity from which a chunk counts as being about an unwanted text. */
const EXCLUDED_SIMILARITY = 0.5

export interface GraftShape {
  readonly alias: string
  readonly search: Search
  /** Names that the statement uses, in lower case: only these hidden columns are made. */
  readonly usedNames: ReadonlySet<string>
  /** Only the nearest so many rows of those that the WHERE keeps can be answered; null: all rows may be. */
  readonly nearestCount: number | null
}

export interface Graft {
  /** A SELECT of the six columns, then the hidden ones. */
  readonly sql: string
  /** Columns that `*` must not show. */
  readonly hiddenColumns: readonly string[]
}

/**
 * A knowledge base as a relation: the six columns of decisions.md 4 and, hidden from `*`, `content` and the metadata
 * columns that the statement names. With `nearestCount`, the place for the statement's own WHERE is the sub-query that
 * `nearestWhere` finds: only so many wide rows are then read.
 */
export function graftOf(kb: KnowledgeBase, shape: GraftShape): Graft {
  const hidden = hiddenColumnsOf(kb, shape.usedNames)
  const exclusions = shape.search.exclusions
  if (columnRankingOf(shape.search) !== null) {
    const columns = hidden.map((column) => `${column.sql} AS ${quote(column.name)}`)
    const names = hidden.map((column) => column.name)
    const sql = unmeasuredChunks(kb, columns)
    return { sql, hiddenColumns: [...names, ...COLUMN_SEARCH_COLUMNS] }
  }
  const all = allRows(kb, shape, hidden)
  const hiddenColumns = [
    ...hidden.map((column) => column.name),
    ...exclusions.map((exclusion) => excludedColumn(exclusion.index)),
  ]
  if (shape.nearestCount === null) return { sql: all, hiddenColumns }
  const alias = quote(shape.alias)
  const columns = ['c.document_id AS id', 'c.chunk_id', 'c.chunk_content', 'c.metadata']
  const wide = [...hidden.map((column) => `${column.sql} AS ${quote(column.name)}`)]
  const excluded = exclusions.map(({ index }) => `s.${quote(excludedColumn(index))}`)
  const kept = exclusions.map(({ index }) => `, ${alias}.${quote(excludedColumn(index))}`).join('')
  const nearest = `SELECT ${alias}.chunk_key, ${alias}.relevance, ${alias}.distance${kept}
    FROM (${all}) AS ${alias} WHERE TRUE
    ORDER BY ${alias}.distance, ${alias}.chunk_id LIMIT ${shape.nearestCount}`
  const list = [...columns, 's.relevance', 's.distance', ...wide, ...excluded].join(', ')
  const sql = `SELECT ${list} FROM (${nearest}) AS s JOIN ${chunkTables(kb).chunks} AS c USING (chunk_key)`
  return { sql, hiddenColumns }
}

interface HiddenColumn {
  readonly name: string
  readonly sql: string
}

function hiddenColumnsOf(kb: KnowledgeBase, used: ReadonlySet<string>): readonly HiddenColumn[] {
  const shown = new Set<string>(KNOWLEDGE_BASE_COLUMNS)
  const hidden: HiddenColumn[] = []
  const add = (name: string, sql: string) => {
    const key = name.toLowerCase()
    if (shown.has(key) || !used.has(key)) return
    shown.add(key)
    hidden.push({ name, sql })
  }
  add('content', 'c.chunk_content')
  for (const column of kb.storedMetadata) add(column.name, `c.${quote(column.column)}`)
  // Declared columns of which no row has come yet are there as well: they are empty.
  for (const name of kb.metadataColumns ?? []) add(name, 'NULL')
  return hidden
}

function allRows(kb: KnowledgeBase, shape: GraftShape, hidden: readonly HiddenColumn[]): string {
  const { ranking, exclusions } = shape.search
  const isSearched = ranking !== null || exclusions.length > 0
  const columns = [
    ...(shape.nearestCount === null ? [] : ['c.chunk_key']),
    'c.document_id AS id',
    'c.chunk_id',
    'c.chunk_content',
    'c.metadata',
    ranking === null
      ? 'NULL::DOUBLE AS relevance'
      : `1 / (1 + (${distanceSql(ranking)})) AS relevance`,
    ranking === null ? 'NULL::DOUBLE AS distance' : `${distanceSql(ranking)} AS distance`,
    ...hidden.map((column) => `${column.sql} AS ${quote(column.name)}`),
    ...exclusions.map((exclusion) => {
      return `${excludedSql(exclusion, ranking)} AS ${quote(excludedColumn(exclusion.index))}`
    }),
  ]
  const from = isSearched ? measuredRows(kb, shape.search) : `${chunkTables(kb).chunks} AS c`
  return `SELECT ${columns.join(', ')} FROM ${from}`
}

/** The chunks with the cosine distance to each text as `__distance_<text>`. */
function measuredRows(kb: KnowledgeBase, search: Search): string {
  const { chunks, vectors } = chunkTables(kb)
  const texts = new Set([
    ...textsOfRanking(search.ranking),
    ...search.exclusions.flatMap((exclusion) => exclusion.texts),
  ])
  if (kb.dimensions === null) {
    const none = [...texts].map((text) => `NULL::DOUBLE AS ${distanceColumn(text)}`).join(', ')
    return `(SELECT c.*, ${none} FROM ${chunks} AS c) AS c`
  }
  const measured = [...texts].map((text) => {
    // Stored vectors and query vectors have unit length, so that 1 - their inner product is the cosine distance.
    const vector = `$${vectorParameter(text)}::FLOAT[${kb.dimensions}]`
    const product = `array_negative_inner_product(v.vector, ${vector})`
    return `least(2, greatest(0, 1 + ${product}))::DOUBLE AS ${distanceColumn(text)}`
  })
  return `(SELECT c.*, ${measured.join(', ')} FROM ${chunks} AS c
    JOIN ${vectors} AS v USING (chunk_key)) AS c`
}

function distanceColumn(text: number): string {
  return quote(`__distance_${text}`)
}

function distanceSql(ranking: Ranking): string {
  if (ranking.kind === 'text') return `c.${distanceColumn(ranking.text)}`
  if (ranking.kind === 'column') throw new Error('a search by a column is measured elsewhere')
  const parts = ranking.of.map(distanceSql).join(', ')
  return `${ranking.kind === 'nearest' ? 'least' : 'greatest'}(${parts})`
}

/** A chunk is about an unwanted text when it has all its words, or is near to it and no nearer to a wanted one. */
function excludedSql(exclusion: Exclusion, ranking: Ranking | null): string {
  const wanted = textsOfRanking(ranking).map((text) => `c.${distanceColumn(text)}`)
  const isAbout = exclusion.texts.map((text) => {
    const distance = `c.${distanceColumn(text)}`
    const isNear = `${distance} <= ${1 - EXCLUDED_SIMILARITY}`
    const isNearest = wanted.map((other) => ` AND ${distance} <= ${other}`).join('')
    const terms = `$${termsParameter(text)}::VARCHAR[]`
    const hasTerm = `term -> contains(lower(c.chunk_content), term)`
    const hasTerms = `len(${terms}) > 0 AND list_bool_and(list_transform(${terms}, ${hasTerm}))`
    return `(${hasTerms}) OR (${isNear}${isNearest})`
  })
  return `coalesce(${isAbout.map((part) => `(${part})`).join(' OR ')}, false)`
}
