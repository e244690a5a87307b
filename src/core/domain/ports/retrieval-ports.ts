/**
 * What retrieval and the store need from each other. `store/` implements the readers and makes the graphs, `retrieval/`
 * listens to commits, `app.ts` joins them, and tests pass in fakes.
 */
import type { CatalogSnapshot } from '../access/catalog-snapshot.ts'
import type { TableIds } from '../document.ts'
import type { IndexPossibility, IndexReport } from '../index-definition.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import type { BoundSql, RunLimits, SqlEngine } from './engine-ports.ts'
import type { NearestChunk } from './search-ports.ts'

/**
 * Some rows of a SELECT, column by column. The arrays are views of the reader's memory, without a JavaScript value per
 * number: they are valid until the next batch is requested; copy anything needed longer. Columns count from 0 and contain no
 * NULL.
 */
export interface ColumnBatch {
  readonly rowCount: number
  /** A BIGINT column. */
  keys(column: number): BigInt64Array
  /** An INTEGER column. */
  ints(column: number): Int32Array
  /** A DOUBLE column. */
  doubles(column: number): Float64Array
  /** A FLOAT[n] column: row by row, `n * rowCount` numbers. */
  floats(column: number): Float32Array
}

export interface ColumnReader {
  /**
   * Runs one internal SELECT in a READ ONLY transaction, like `SqlEngine.run`.
   * @throws AppError as `SqlEngine.run` does
   */
  columns(select: BoundSql, limits: RunLimits, signal: AbortSignal): AsyncIterable<ColumnBatch>
}

/** Runs one internal SELECT that returns values. */
export type RowReader = Pick<SqlEngine, 'run'>

/** Some vectors with the keys of their chunks. */
export interface VectorBatch {
  /** Distinct across all batches. */
  readonly keys: BigInt64Array
  /** Row by row, each of unit length. */
  readonly vectors: Float32Array
}

/** All vectors of a knowledge base at one revision. */
export interface VectorRows {
  readonly revision: number
  readonly dimensions: number
  /** Of all batches together. */
  readonly count: number
  /** Can be read once; a batch belongs to the reader. */
  readonly batches: AsyncIterable<VectorBatch>
}

export interface VectorSource {
  /**
   * Has all vectors read within one transaction, which ends when `read` has settled.
   * @throws AppError `knowledge_base_not_found` if it is gone or has no vectors; errors of `read`
   */
  readAll<T>(ids: TableIds, read: (rows: VectorRows) => Promise<T>): Promise<T>
}

/** What one commit changed: what is removed first, then what is there now. */
export interface VectorChange {
  readonly removedKeys?: BigInt64Array
  /** Distinct. An existing key gets the new vector. */
  readonly keys?: BigInt64Array
  /** Row by row, each of unit length. */
  readonly vectors?: Float32Array
  /** The revision after the commit. */
  readonly revision: number
}

/** One committed write to the chunks of a knowledge base. */
export interface CommittedWrite {
  /** One more than before the write. */
  readonly revision: number
  /** null: unknown, because `needsChange` was false. */
  readonly changed: ChunkChanges | null
  /** Set if terms of stored chunks changed. */
  readonly hasOtherTerms?: boolean
}

/** What one commit changed of the chunks and their vectors. */
export interface ChunkChanges extends Omit<VectorChange, 'revision'> {
  /** Existing chunks whose metadata changed; a new text is a chunk with a new key. */
  readonly rewrittenKeys?: BigInt64Array
}

/** Notified of each write to the chunks of a knowledge base, and of each change of the catalog. */
export interface CommitListener {
  /** Whether `endCommit` shall say what has changed: finding that out costs the write some time. */
  needsChange(kb: Pick<KnowledgeBase, 'id'>): boolean
  /** The write is about to commit: transactions started from now on may see it. */
  beginCommit(kb: Pick<KnowledgeBase, 'id'>): void
  /** After the commit, before the write is answered. @param write null: the transaction was rolled back */
  endCommit(kb: KnowledgeBase, write: CommittedWrite | null): void
  /** Knowledge bases may be new, defined otherwise, or gone. Told before `endCommit`. */
  catalogChanged(snapshot: CatalogSnapshot): void
}

export interface TopKSearch {
  /** Of unit length. */
  readonly queryVector: Float32Array
  readonly k: number
}

/** The vectors of a knowledge base in memory, all of which a search compares. */
export interface ExactVectors {
  readonly count: number
  /** As of the last change. */
  readonly revision: number
  /** The nearest `k`, or all there are, the nearest first. */
  search(search: TopKSearch, signal: AbortSignal): Promise<readonly NearestChunk[]>
}

/** An index from CREATE INDEX, next to the vectors in memory, which answer while it cannot. */
export interface Accelerator {
  /** The nearest `k`, with nearer ones seldom missing. null: compare all vectors. */
  search(search: TopKSearch, signal: AbortSignal): Promise<readonly NearestChunk[] | null>
  /** Told of each commit after the vectors in memory. */
  apply(change: VectorChange): void
  report(): IndexReport
  /** Resolves when nothing is being built. */
  settled(): Promise<void>
  close(): Promise<void>
}

/**
 * Bytes derived from stored data, by name, kept between starts. They may be gone, outdated or damaged at any time: readers
 * must check.
 */
export interface DerivedFiles {
  /** null: there are none. */
  read(name: string): Promise<Uint8Array | null>
  /** Replaces the bytes of that name whole or not at all. @throws if they cannot be written */
  write(name: string, bytes: Uint8Array): Promise<void>
  keepOnly(names: ReadonlySet<string>): Promise<void>
}

/** Makes indexes of one type. */
export interface AcceleratorFactory {
  possibility(): IndexPossibility
  /** Begins to build it in the background. @param index.options by their names in the statement; a missing one has its default */
  create(
    index: {
      readonly ids: TableIds
      readonly dimensions: number
      readonly options: Readonly<Record<string, number>>
    },
    vectors: ExactVectors,
  ): Accelerator
}
