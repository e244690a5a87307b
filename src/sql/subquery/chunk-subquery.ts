/** The sub-query that replaces a knowledge base's name. */
import { chunkTables } from '../../core/domain/document.ts'
import { KNOWLEDGE_BASE_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import { LATERAL_COLUMNS, unmeasuredChunks } from '../search/lateral-search.ts'
import { BOUND } from '../search/plan-inputs.ts'
import { branchColumn, branchesOf, CONDITIONS } from '../search/predicate-pushdown.ts'
import {
  type BranchRanking,
  CHUNK_KEY,
  distanceColumn,
  type Exclusion,
  excludedColumn,
  fusedColumn,
  lateralRankingOf,
  type Ranking,
  type Search,
} from '../search/ranking.ts'
import { isTakenName, metadataName, ownIdNames } from '../search/search-options.ts'
import {
  candidateRows,
  distanceRows,
  type HybridRows,
  hybridCtes,
  hybridRows,
} from './hybrid-rows.ts'
import { ANSWERABLE, RERANKED_COLUMNS, rerankedRows } from './reranked-search.ts'

/** The cosine similarity from which a chunk counts as being about an unwanted text. */
const EXCLUDED_SIMILARITY = 0.5

export interface ChunkSubqueryShape {
  readonly alias: string
  readonly search: Search
  /** Names in the statement, in lower case: only these hidden columns are created. */
  readonly usedNames: ReadonlySet<string>
  /** Only this many of the nearest rows that pass the WHERE can be returned; null: all. */
  readonly nearestCount: number | null
  /** Whether conditions of the statement narrow the rows over which a hybrid search makes its scales. */
  readonly hasConditions: boolean
  /** Whether any condition may exclude chunks, apart from those on distance or relevance. */
  readonly isNarrowed: boolean
  /** Index of the text whose nearest chunks are known when the statement runs; null or unset: all are compared. */
  readonly candidatesFor?: number | null
  /** The reranking that provides the chunks; null or unset: none. */
  readonly rerankingIndex?: number | null
  /** What the hidden column `answerable` holds, as SQL; null: there is none. */
  readonly answerable: string | null
}

/**
 * A knowledge base as a relation: the six columns of docs/contract.md 4.4 and, hidden from `*`, `content` and the metadata
 * columns that the statement names. With `nearestCount`, the place for the statement's own WHERE is the sub-query that
 * `nearestWhere` finds: only this many wide rows are then read.
 */
export function chunkSubqueryOf(
  kb: KnowledgeBase,
  shape: ChunkSubqueryShape,
): {
  /** A SELECT of the six columns, then the hidden ones. */
  readonly sql: string
  /** Columns that `*` must not show. */
  readonly hiddenColumns: readonly string[]
} {
  const judged = shape.answerable === null ? [] : [{ name: ANSWERABLE, sql: shape.answerable }]
  const hidden = [...hiddenColumnsOf(kb, shape.usedNames), ...judged]
  const exclusions = shape.search.exclusions
  if (lateralRankingOf(shape.search) !== null) {
    const columns = hidden.map(columnSql)
    const names = hidden.map((column) => column.name)
    const sql = unmeasuredChunks(kb, columns)
    return { sql, hiddenColumns: [...names, ...LATERAL_COLUMNS] }
  }
  const { rerankingIndex = null } = shape
  if (rerankingIndex !== null) {
    const measures = Object.entries(RERANKED_COLUMNS).map(([name, own]) => `c.${own} AS ${name}`)
    const list = [...PLAIN_COLUMNS, ...measures, ...hidden.map(columnSql)]
    const sql = `SELECT ${list.join(', ')} FROM ${rerankedRows(kb, rerankingIndex)} AS c`
    return { sql, hiddenColumns: hidden.map(({ name }) => name) }
  }
  const hybrid = hybridOf(kb, shape, hidden)
  const all = allRows(kb, shape, hidden, hybrid)
  const isFused = hybrid !== null && (shape.candidatesFor ?? null) === null
  const ctes = isFused ? `${hybridCtes(hybrid)} ` : ''
  const hiddenColumns = [
    ...hidden.map((column) => column.name),
    ...exclusions.map((exclusion) => excludedColumn(exclusion.index)),
  ]
  if (shape.nearestCount === null) return { sql: `${ctes}${all}`, hiddenColumns }
  const alias = quote(shape.alias)
  const excluded = exclusions.map(({ index }) => `s.${quote(excludedColumn(index))}`)
  const exclusionList = exclusions
    .map(({ index }) => `, ${alias}.${quote(excludedColumn(index))}`)
    .join('')
  const best = hybrid === null ? '' : `${alias}.relevance DESC, `
  const nearest = `SELECT ${alias}.${CHUNK_KEY}, ${alias}.relevance, ${alias}.distance${exclusionList}
    FROM (${all}) AS ${alias} WHERE TRUE
    ORDER BY ${best}${alias}.distance, ${alias}.chunk_id LIMIT ${shape.nearestCount}`
  const list = [
    ...PLAIN_COLUMNS,
    's.relevance',
    's.distance',
    ...hidden.map(columnSql),
    ...excluded,
  ]
  const sql = `${ctes}SELECT ${list.join(', ')} FROM (${nearest}) AS s
    JOIN ${chunkTables(kb).chunks} AS c ON c.chunk_key = s.${CHUNK_KEY}`
  return { sql, hiddenColumns }
}

const PLAIN_COLUMNS = ['c.document_id AS id', 'c.chunk_id', 'c.chunk_content', 'c.metadata']

interface HiddenColumn {
  readonly name: string
  readonly sql: string
}

function columnSql({ name, sql }: HiddenColumn): string {
  return `${sql} AS ${quote(name)}`
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
  add(CHUNK_KEY, 'c.chunk_key')
  for (const name of ownIdNames(kb)) add(kb.idColumn ?? name, 'c.document_id')
  for (const column of kb.storedMetadata) {
    const sql = `c.${quote(column.column)}`
    const name = metadataName(column)
    const isNamed = used.has(name) || used.has(column.name.toLowerCase())
    if (isTakenName(column.name) && isNamed) hidden.push({ name, sql })
    add(column.name, sql)
  }
  // Declared columns without any row so far are included: they are empty.
  for (const name of kb.metadataColumns ?? []) add(name, 'NULL')
  return hidden
}

/** null for a search by vectors alone, and without a search. */
function hybridOf(
  kb: KnowledgeBase,
  { search, alias, hasConditions }: ChunkSubqueryShape,
  hidden: readonly HiddenColumn[],
): HybridRows | null {
  const { hybrid, ranking } = search
  if (hybrid === null || ranking === null || kb.dimensions === null) return null
  const own = hidden.filter(({ name }) => name !== CHUNK_KEY)
  const conditions = hasConditions
    ? { alias, columns: [...PLAIN_COLUMNS, ...own.map(columnSql)] }
    : null
  return { knowledgeBase: kb, dimensions: kb.dimensions, search, hybrid, ranking, conditions }
}

function allRows(
  kb: KnowledgeBase,
  shape: ChunkSubqueryShape,
  hidden: readonly HiddenColumn[],
  hybrid: HybridRows | null,
): string {
  const { ranking, exclusions } = shape.search
  const isSearched = ranking !== null || exclusions.length > 0
  const hasKey = shape.nearestCount === null || hidden.some(({ name }) => name === CHUNK_KEY)
  const columns = [
    // First: the condition of a branch may name them.
    ...exclusions.map((exclusion) => {
      return `${excludedSql(exclusion, ranking)} AS ${quote(excludedColumn(exclusion.index))}`
    }),
    ...(hasKey ? [] : [`c.chunk_key AS ${CHUNK_KEY}`]),
    ...PLAIN_COLUMNS,
    `${relevanceSql(ranking, hybrid)} AS relevance`,
    ranking === null ? 'NULL::DOUBLE AS distance' : `${distanceSql(ranking)} AS distance`,
    ...hidden.map(columnSql),
  ]
  const from = isSearched ? searchedRows(kb, shape, hybrid) : chunkTables(kb).chunks
  return `SELECT ${columns.join(', ')} FROM ${from} AS c`
}

function searchedRows(
  kb: KnowledgeBase,
  { search, isNarrowed, candidatesFor = null }: ChunkSubqueryShape,
  hybrid: HybridRows | null,
): string {
  if (candidatesFor === null) {
    return hybrid === null ? distanceRows(kb, search, isNarrowed) : hybridRows(hybrid)
  }
  return candidateRows(kb, candidatesFor, hybrid !== null)
}

/** A SELECT of the keys of the chunks that conditions keep; `putConditions` then puts the conditions in. */
export function prefilterSql(kb: KnowledgeBase, alias: string, used: ReadonlySet<string>): string {
  const own = hiddenColumnsOf(kb, used).filter(({ name }) => name !== CHUNK_KEY)
  const columns = [`c.chunk_key AS ${CHUNK_KEY}`, ...PLAIN_COLUMNS, ...own.map(columnSql)]
  return `SELECT ${CHUNK_KEY} FROM (SELECT ${columns.join(', ')} FROM ${chunkTables(kb).chunks} AS c)
    AS ${quote(alias)} WHERE ${CONDITIONS}`
}

function relevanceSql(ranking: Ranking | null, hybrid: HybridRows | null): string {
  if (ranking === null) return 'NULL::DOUBLE'
  const measured = { ranking, branches: branchesOf(ranking) }
  return hybrid === null
    ? `1 / (1 + (${distanceSql(ranking)}))`
    : combinedSql(measured, (textIndex) => `c.${fusedColumn(textIndex)}`, ['greatest', 'least'])
}

function distanceSql(ranking: Ranking): string {
  const measured = { ranking, branches: branchesOf(ranking) }
  return combinedSql(measured, (textIndex) => `c.${distanceColumn(textIndex)}`, [
    'least',
    'greatest',
  ])
}

/**
 * The combined measure of several texts; null if none counts.
 * @param functions that return the better and the worse of two; they ignore null
 */
function combinedSql(
  { ranking, branches }: { ranking: Ranking; branches: readonly BranchRanking[] },
  measure: (textIndex: number) => string,
  functions: readonly [better: string, worse: string],
): string {
  if (ranking.kind === 'text') return measure(ranking.textIndex)
  if (ranking.kind === 'lateral') throw new Error('a lateral search is measured elsewhere')
  if (ranking.kind === 'branch') {
    const part = combinedSql({ ranking: ranking.part, branches }, measure, functions)
    return `CASE WHEN ${branchColumn(branches.indexOf(ranking))} THEN ${part} END`
  }
  const parts = ranking.parts.map((part) => {
    return combinedSql({ ranking: part, branches }, measure, functions)
  })
  return `${functions[ranking.kind === 'nearest' ? 0 : 1]}(${parts.join(', ')})`
}

/** The distances to the texts that count, before exclusions. */
function wantedDistances(
  ranking: Ranking | null,
  branches: readonly BranchRanking[],
): readonly string[] {
  if (ranking === null || ranking.kind === 'lateral') return []
  if (ranking.kind === 'text') return [`c.${distanceColumn(ranking.textIndex)}`]
  if (ranking.kind !== 'branch') {
    return ranking.parts.flatMap((part) => wantedDistances(part, branches))
  }
  const within = wantedDistances(ranking.part, branches)
  if (ranking.isOnExclusion) return within
  const condition = branchColumn(branches.indexOf(ranking))
  return within.map((distance) => `CASE WHEN ${condition} THEN ${distance} END`)
}

/** A chunk matches an unwanted text if it has all its words, or is near to it and no nearer to a wanted one. */
function excludedSql(exclusion: Exclusion, ranking: Ranking | null): string {
  const wanted = wantedDistances(ranking, branchesOf(ranking))
  const isAbout = exclusion.textIndexes.map((textIndex) => {
    const distance = `c.${distanceColumn(textIndex)}`
    const isNear = `${distance} <= ${1 - EXCLUDED_SIMILARITY}`
    const isNearest = wanted.map((other) => ` AND coalesce(${distance} <= ${other}, true)`).join('')
    const words = `$${BOUND.words(textIndex)}::VARCHAR[]`
    const hasWord = `term -> contains(lower(c.chunk_content), term)`
    const hasWords = `len(${words}) > 0 AND list_bool_and(list_transform(${words}, ${hasWord}))`
    return `(${hasWords}) OR (${isNear}${isNearest})`
  })
  return `coalesce(${isAbout.map((part) => `(${part})`).join(' OR ')}, false)`
}
