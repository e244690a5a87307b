/** Builds the subquery that replaces a knowledge base's name. */
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

/** A chunk counts as matching an unwanted text from this cosine similarity. */
const EXCLUDED_SIMILARITY = 0.5

export interface ChunkSubqueryShape {
  readonly alias: string
  readonly search: Search
  /** Lower-case names in the statement: hidden columns are added only for these. */
  readonly usedNames: ReadonlySet<string>
  /** How many of the nearest rows that meet the WHERE are needed; null: all. */
  readonly nearestCount: number | null
  /** Whether the statement's conditions narrow the rows from which scales are computed. */
  readonly hasConditions: boolean
  /** Whether any condition other than those on distance or relevance may exclude chunks. */
  readonly isNarrowed: boolean
  /** Its nearest chunks were found before the statement runs; null or unset if none. */
  readonly candidatesFor?: number | null
  /** The reranking that supplies the chunks; null or unset if there is none. */
  readonly rerankingIndex?: number | null
  /** The SQL of the hidden column `answerable`, or null. */
  readonly answerable: string | null
}

/**
 * Builds a knowledge base as a relation: the six columns of docs/contract.md 4.4 and, hidden from
 * `*`, `content` and the metadata columns that the statement names. With `nearestCount`, the
 * statement's WHERE must be placed in the subquery that `nearestWhere` finds, so that only this
 * many full rows are read.
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
  // Include declared columns that no row has yet. They are null.
  for (const name of kb.metadataColumns ?? []) add(name, 'NULL')
  return hidden
}

/** Null for a search by vectors alone, and if there is no search. */
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
    // Exclusions come first, because the condition of a branch may use them.
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

/** A SELECT of the keys of chunks that meet conditions, which `putConditions` then inserts. */
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

/** null if none counts. @param functions the better and the worse, ignoring null */
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

/** Returns the distances to the wanted texts, without exclusions. */
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

/** It has all the words, or is close and not closer to a wanted text. */
function excludedSql(exclusion: Exclusion, ranking: Ranking | null): string {
  const wanted = wantedDistances(ranking, branchesOf(ranking))
  const isAbout = exclusion.textIndexes.map((textIndex) => {
    const distance = `c.${distanceColumn(textIndex)}`
    const isNear = `${distance} <= ${1 - EXCLUDED_SIMILARITY}`
    const isNearest = wanted.map((other) => ` AND coalesce(${distance} <= ${other}, true)`).join('')
    const words = `$${BOUND.words(textIndex)}::VARCHAR[]`
    // In a list of one, because a lambda would compute the lower case again for each word.
    const hasEach = `list_bool_and(list_transform(${words}, term -> contains(text, term)))`
    const hasAll = `list_transform([lower(c.chunk_content)], text -> ${hasEach})[1]`
    const hasWords = `len(${words}) > 0 AND ${hasAll}`
    return `(${hasWords}) OR (${isNear}${isNearest})`
  })
  return `coalesce(${isAbout.map((part) => `(${part})`).join(' OR ')}, false)`
}
