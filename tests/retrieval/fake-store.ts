import type { IndexPossibility } from '../../src/core/domain/index-definition.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { BoundSql, PrefilterSql } from '../../src/core/domain/ports/engine-ports.ts'
import type {
  Accelerator,
  AcceleratorFactory,
  ColumnBatch,
  ColumnReader,
  CommitListener,
  ExactVectors,
  RowReader,
  VectorBatch,
  VectorSource,
} from '../../src/core/domain/ports/retrieval-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import type { RetrievalStore } from '../../src/retrieval/open-retrieval.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'
import { joined } from './sample-vectors.ts'

export interface FakeChunk {
  readonly vector: Float32Array
  /** Each word is a term, and its length is the term's key. */
  readonly text: string
}

export interface FakeWrite {
  readonly put?: readonly FakeChunk[]
  readonly remove?: readonly bigint[]
}

const BATCH_ROWS = 64

/**
 * A store without a database, with one knowledge base whose chunks are in a map. What it returns is
 * valid until the next batch is requested, and is then overwritten.
 */
export class FakeStore implements RetrievalStore {
  readonly chunks = new Map<bigint, FakeChunk>()
  /** What the conditions of a prefilter mean, by their SQL. */
  readonly conditions = new Map<string, (key: bigint, chunk: FakeChunk) => boolean>()
  /** The purpose of each SELECT, in order. */
  readonly selects: ('vectors' | 'checked keys' | 'listed keys' | 'postings')[] = []
  /** For each term of the last postings, the first key that was wanted. */
  wantedSince: readonly bigint[] = []
  /** Awaited while all vectors are read. */
  whileReading: () => Promise<void> = async () => {}
  #kb: KnowledgeBase
  #nextKey = 1n
  #listener: CommitListener | null = null

  constructor(dimensions: number) {
    this.#kb = knowledgeBase({ dimensions })
  }

  get knowledgeBase(): KnowledgeBase {
    return this.#kb
  }

  setListener(listener: CommitListener): void {
    this.#listener = listener
  }

  readonly catalog = {
    snapshot: () => ({
      ...{ version: 1, definitionsVersion: 1, knowledgeBases: [this.#kb] },
      ...{ projects: [], agents: [], files: [], views: [], tables: [], dataSources: [] },
    }),
  }

  /** Runs one transaction. @param outcome `undone` rolls it back when it should be committed */
  write({ put = [], remove = [] }: FakeWrite, outcome: 'committed' | 'undone' = 'committed'): void {
    const listener = this.#listener
    const isWanted = listener?.needsChange(this.#kb) ?? false
    listener?.beginCommit(this.#kb)
    if (outcome === 'undone') {
      listener?.endCommit(this.#kb, null)
      return
    }
    for (const key of remove) this.chunks.delete(key)
    const keys = put.map((_, index) => this.#nextKey + BigInt(index))
    for (const [index, chunk] of put.entries()) this.chunks.set(keys[index] ?? 0n, chunk)
    this.#nextKey += BigInt(put.length)
    const revision = this.#kb.revision + 1
    this.change({ revision })
    const changed = {
      removedKeys: BigInt64Array.from(remove),
      keys: BigInt64Array.from(keys),
      vectors: joined(put.map(({ vector }) => vector)),
    }
    listener?.endCommit(this.#kb, { revision, changed: isWanted ? changed : null })
  }

  /** Changes the definition. */
  change(changes: Partial<KnowledgeBase>): void {
    this.#kb = { ...this.#kb, ...changes }
    this.#listener?.catalogChanged(this.catalog.snapshot())
  }

  drop(): void {
    this.#listener?.catalogChanged({ ...this.catalog.snapshot(), knowledgeBases: [] })
  }

  prefilter(sql: string, isCacheable = true): PrefilterSql {
    return { sql, values: {}, isCacheable, condition: null }
  }

  /** Returns the keys that such a prefilter keeps. */
  keysWhere(sql: string): readonly bigint[] {
    const keeps = this.conditions.get(sql)
    if (keeps === undefined) throw new Error(`what does ${sql} mean?`)
    return [...this.chunks].filter(([key, chunk]) => keeps(key, chunk)).map(([key]) => key)
  }

  readonly vectors: VectorSource = {
    readAll: async (_, read) => {
      const rows = [...this.chunks]
      const { revision, dimensions } = this.#kb
      if (dimensions === null) throw new AppError('knowledge_base_not_found', 'No vectors')
      const whileReading = this.whileReading
      async function* batches(): AsyncGenerator<VectorBatch, void, void> {
        for (let start = 0; start < rows.length; start += BATCH_ROWS) {
          const some = rows.slice(start, start + BATCH_ROWS)
          const keys = BigInt64Array.from(some, ([key]) => key)
          const vectors = joined(some.map(([, { vector }]) => vector))
          yield { keys, vectors }
        }
        await whileReading()
      }
      return read({ revision, dimensions, count: rows.length, batches: batches() })
    },
  }

  readonly engine: ColumnReader & RowReader = {
    run: () => Promise.reject(new Error('its rows are never read')),
    columns: async function* (this: FakeStore, select: BoundSql, _: unknown, signal: AbortSignal) {
      signal.throwIfAborted()
      const rows = this.#rowsOf(select)
      for (let start = 0; start < rows.length; start += BATCH_ROWS) {
        const { batch, spoil } = batchOf(rows.slice(start, start + BATCH_ROWS))
        yield batch
        spoil()
        signal.throwIfAborted()
      }
    }.bind(this),
  }

  readonly hnsw: AcceleratorFactory & { possible: IndexPossibility; created: FakeAccelerator[] } = {
    possible: { possible: false, reason: 'it is not there' },
    created: [],
    possibility() {
      return this.possible
    },
    create(_, vectors) {
      const accelerator = new FakeAccelerator(vectors)
      this.created.push(accelerator)
      return accelerator
    },
  }

  #rowsOf({ sql, values }: BoundSql): readonly Row[] {
    const { keys, eider_near: near } = values
    if (keys !== undefined) {
      this.selects.push('vectors')
      return bigints(keys).flatMap((key) => {
        const chunk = this.chunks.get(key)
        return chunk === undefined ? [] : [[key, chunk.vector]]
      })
    }
    const condition = [...this.conditions.keys()].find((known) => sql.includes(known))
    if (condition === undefined) return this.#postings(sql, values)
    const passing = this.keysWhere(condition)
    this.selects.push(near === undefined ? 'listed keys' : 'checked keys')
    if (near !== undefined) {
      const asked = new Set(bigints(near))
      return passing.filter((key) => asked.has(key)).map((key) => [key])
    }
    const limit = Number(/LIMIT (\d+)$/.exec(sql)?.[1] ?? passing.length)
    return passing.slice(0, limit).map((key) => [key])
  }

  #postings(sql: string, values: BoundSql['values']): readonly Row[] {
    this.selects.push('postings')
    const each = (name: string) => {
      const found = Object.entries(values).filter(([key]) => key.startsWith(`${name}_`))
      return bigints(found.map(([, value]) => value))
    }
    const terms = each('term')
    this.wantedSince = each('since')
    const chunks = [...this.chunks].map(([key, { text }]) => ({ key, terms: termsOf(text) }))
    const termCount = chunks.reduce((sum, chunk) => sum + chunk.terms.length, 0)
    const state = [
      BigInt(this.#kb.revision),
      this.#nextKey,
      BigInt(chunks.length),
      BigInt(termCount),
    ]
    const postings = terms.flatMap((term, index) => {
      return chunks.flatMap(({ key, terms: own }): Row[] => {
        const frequency = own.filter((one) => one === term).length
        const isWanted = frequency > 0 && key >= (this.wantedSince[index] ?? 0n)
        return isWanted ? [[term, key, frequency, own.length]] : []
      })
    })
    const isCounted = sql.includes('count(*)')
    const said = isCounted ? state : state.slice(0, 1)
    return [...postings, ...said.map((value, index): Row => [0n, value, 0, index])]
  }
}

/** Returns what it compares, and counts how often. */
export class FakeAccelerator implements Accelerator {
  readonly #vectors: ExactVectors
  readonly revisions: number[] = []
  searchCount = 0
  isClosed = false

  constructor(vectors: ExactVectors) {
    this.#vectors = vectors
  }

  search: Accelerator['search'] = (search, signal) => {
    this.searchCount += 1
    return this.#vectors.search(search, signal)
  }

  apply({ revision }: { readonly revision: number }): void {
    this.revisions.push(revision)
  }

  report() {
    return { state: 'ready', vectorCount: this.#vectors.count, detail: 'by a fake' } as const
  }

  async settled(): Promise<void> {}

  async close(): Promise<void> {
    this.isClosed = true
  }
}

export function termsOf(text: string): readonly bigint[] {
  return text.split(' ').map((word) => BigInt(word.length))
}

type Row = readonly (bigint | number | Float32Array)[]

/** Returns the rows as columns, and a way to remove them while they are still in use. */
function batchOf(rows: readonly Row[]): { readonly batch: ColumnBatch; spoil(): void } {
  const held: (BigInt64Array | Int32Array | Float32Array | Float64Array)[] = []
  const hold = <T extends (typeof held)[number]>(column: T): T => {
    held.push(column)
    return column
  }
  const valuesOf = (column: number) => rows.map((row) => row[column] ?? 0)
  const batch: ColumnBatch = {
    rowCount: rows.length,
    keys: (column) => hold(BigInt64Array.from(valuesOf(column), (value) => BigInt(Number(value)))),
    doubles: (column) => hold(Float64Array.from(valuesOf(column), Number)),
    ints: (column) => hold(Int32Array.from(valuesOf(column), Number)),
    floats: (column) => {
      const vectors = valuesOf(column).filter((value) => value instanceof Float32Array)
      return hold(joined(vectors))
    },
  }
  const spoil = () => {
    for (const column of held) {
      if (column instanceof BigInt64Array) column.fill(-1n)
      else column.fill(-1)
    }
  }
  return { batch, spoil }
}

function bigints(value: unknown): readonly bigint[] {
  if (!Array.isArray(value)) throw new Error('a list was expected')
  return value.map((one) => BigInt(one))
}
