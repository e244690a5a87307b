import { type ConditionColumn, columnsOf } from '../core/domain/column-condition.ts'
import { chunkTables } from '../core/domain/document.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import { quote } from '../core/domain/names.ts'
import type { BoundSql, PrefilterSql, RunLimits } from '../core/domain/ports/engine-ports.ts'
import type {
  ColumnReader,
  CommittedWrite,
  RowReader,
} from '../core/domain/ports/retrieval-ports.ts'
import { LruMap } from '../core/runtime/lru-map.ts'
import { hashSql } from '../core/text/words.ts'
import { ChunkValues, type KeptChunks, keptChunks } from './chunk-values.ts'

/** The limit for the values of all knowledge bases together. */
const BYTES_MAX = 64 * 1024 ** 2

/** A column with more distinct words is left to the database. */
const WORDS_MAX = 2_000

/** How often a search reads again after concurrent writes. */
const READS_MAX = 4

/** Up to this many rows are fetched in one step of the database instead of many. */
const SHORT_ROWS_MAX = 200_000

interface Known {
  readonly values: ChunkValues
  /** Set while values are being read. Resolves to false if that fails. */
  reading: Promise<boolean> | null
  /** Writes that were committed in the meantime. */
  later: CommittedWrite[]
}

interface FilteredSearch {
  readonly knowledgeBase: KnowledgeBase
  readonly prefilter: PrefilterSql
  readonly limits: RunLimits
  readonly chunkCount: number
  readonly revision: number
  /** Whether a new transaction still sees that revision. */
  isCurrent(): boolean
}

/** The first condition on a column reads it; after a write, only changed chunks are read. */
export class FilterValues {
  readonly #reader: ColumnReader & RowReader
  /** By knowledge base id. */
  readonly #known = new LruMap<number, Known>({
    sizeMax: BYTES_MAX,
    sizeOf: ({ values }) => values.bytes,
  })

  constructor(reader: ColumnReader & RowReader) {
    this.#reader = reader
  }

  /** Returns the chunks that meet the conditions; null if the database must find them. */
  async kept(search: FilteredSearch, signal: AbortSignal): Promise<KeptChunks | null> {
    const { prefilter, knowledgeBase, revision, chunkCount, isCurrent } = search
    const columns = prefilter.condition === null ? [] : columnsOf(prefilter.condition)
    if (columns.length === 0 || ChunkValues.bytesOf(chunkCount, columns.length) > BYTES_MAX) {
      return null
    }
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      signal.throwIfAborted()
      let known = this.#known.get(knowledgeBase.id)
      if (known === undefined) {
        // A read during a commit may see either state.
        if (!isCurrent()) return null
        known = { values: new ChunkValues(revision), reading: null, later: [] }
        this.#known.set(knowledgeBase.id, known)
      }
      const { values } = known
      if (values.revision > revision) return null
      if (columns.some(({ name }) => values.columns.get(name) === null)) return null
      const missing = columns.filter(({ name }) => !values.columns.has(name))
      if (known.reading === null && missing.length === 0 && values.changed.size === 0) {
        return values.revision === revision ? keptChunks(prefilter, values) : null
      }
      known.reading ??= this.#read(known, missing, search, signal)
      if (!(await known.reading)) return null
    }
    return null
  }

  /** Call after a write was committed. */
  committed({ id }: Pick<KnowledgeBase, 'id'>, write: CommittedWrite): void {
    const known = this.#known.get(id)
    if (known === undefined) return
    if (known.reading !== null) known.later.push(write)
    else if (!known.values.apply(write)) this.#known.delete(id)
  }

  /** Call when the knowledge base's chunks were dropped or replaced. */
  forget(id: number): void {
    this.#known.delete(id)
  }

  /** Missing columns or changed chunks. On failure false: the database reports the error. */
  async #read(
    known: Known,
    missing: readonly ConditionColumn[],
    search: FilteredSearch,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { knowledgeBase } = search
    const { values } = known
    const isOfAll = missing.length > 0
    const keys = isOfAll ? null : values.takeChanged()
    const columns = isOfAll ? missing : values.comparable
    let isGood = true
    try {
      for (const column of columns) {
        await this.#readColumn(
          { values, column, rows: rowsOf(knowledgeBase, keys) },
          search,
          signal,
        )
      }
    } catch {
      isGood = false
    }
    known.reading = null
    isGood &&= known.later.splice(0).every((write) => values.apply(write))
    if (this.#known.get(knowledgeBase.id) !== known) return isGood
    if (isGood) this.#known.set(knowledgeBase.id, known)
    else this.#known.delete(knowledgeBase.id)
    return isGood
  }

  async #readColumn(
    given: {
      readonly values: ChunkValues
      readonly column: ConditionColumn
      readonly rows: Pick<BoundSql, 'sql' | 'values'>
    },
    { limits, chunkCount }: FilteredSearch,
    signal: AbortSignal,
  ): Promise<void> {
    const { values, column, rows } = given
    const words = values.wordsOf(column)
    if (column.kind === 'word') {
      const sql = `SELECT DISTINCT ${quote(column.name)} FROM ${rows.sql} LIMIT ${WORDS_MAX + 1}`
      const distinct = { sql, values: rows.values, isShort: true }
      const { batches } = await this.#reader.run(distinct, limits, signal)
      for await (const batch of batches) {
        for (const [word] of batch) {
          if (typeof word === 'string' && !words.has(word)) words.set(word, words.size)
        }
      }
    }
    if (words.size > WORDS_MAX) {
      values.refuse(column)
      return
    }
    const isJoined = column.kind === 'word'
    const select = {
      sql: `SELECT chunk_key, ${valueSql(column)} FROM ${rows.sql}${isJoined ? `${WORD_JOIN}${quote(column.name)}` : ''}`,
      values: isJoined ? { ...rows.values, words: JSON.stringify([...words.keys()]) } : rows.values,
      isShort: chunkCount <= SHORT_ROWS_MAX,
    }
    for await (const batch of this.#reader.columns(select, limits, signal)) {
      values.put(column, batch.keys(0), batch.doubles(1))
    }
  }
}

/** Selects the rows of all chunks, or of some. */
function rowsOf(
  kb: KnowledgeBase,
  keys: readonly bigint[] | null,
): Pick<BoundSql, 'sql' | 'values'> {
  const { chunks } = chunkTables(kb)
  if (keys === null) return { sql: chunks, values: {} }
  return { sql: `(SELECT * FROM ${chunks} WHERE chunk_key IN ($keys))`, values: { keys } }
}

const WORD_JOIN = ` LEFT JOIN (
  SELECT unnest(words) AS eider_word, unnest(range(len(words))) AS eider_number
  FROM (SELECT from_json($words, '["VARCHAR"]') AS words)) ON eider_word = `

/** NaN means no value; infinity, that JavaScript cannot represent the number exactly. */
function valueSql({ name, kind }: ConditionColumn): string {
  const column = quote(name)
  const moment = `CASE WHEN isfinite(${column}) THEN epoch_us(${column}) END`
  const value = {
    number: column,
    truth: `${column}::INTEGER`,
    word: 'eider_number',
    hash: hashSql(column),
    day: moment,
    time: moment,
  }[kind]
  return `CASE WHEN ${column} IS NULL THEN 'nan'::DOUBLE
    WHEN abs((${value})::DOUBLE) < ${2 ** 53} THEN (${value})::DOUBLE ELSE 'inf'::DOUBLE END`
}
