/**
 * What retrieval and the store need from each other. `store/` implements the readers and notifies
 * the listeners, `retrieval/` listens to commits, and `app.ts` connects them. Tests pass in fakes.
 */
import type { CatalogSnapshot } from '../access/catalog-snapshot.ts'
import type { TableIds } from '../document.ts'
import type { IndexPossibility, IndexReport } from '../index-definition.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import type { BoundSql, RunLimits, SqlEngine } from './engine-ports.ts'
import type { NearestChunk } from './search-ports.ts'

/**
 * Some rows of a SELECT, by column. The arrays are views of the reader's memory and valid only
 * until the next batch is requested, so copy anything needed longer. Columns count from 0 and
 * contain no NULL.
 */
export interface ColumnBatch {
  readonly rowCount: number
  /** A BIGINT column. */
  keys(column: number): BigInt64Array
  /** An INTEGER column. */
  ints(column: number): Int32Array
  /** A DOUBLE column. */
  doubles(column: number): Float64Array
  /** A FLOAT[n] column: `n * rowCount` numbers, row after row. */
  floats(column: number): Float32Array
}

export interface ColumnReader {
  /**
   * Runs one internal SELECT in a READ ONLY transaction, like `SqlEngine.run`.
   * @throws AppError like `SqlEngine.run`
   */
  columns(select: BoundSql, limits: RunLimits, signal: AbortSignal): AsyncIterable<ColumnBatch>
}

/** Runs one internal SELECT and returns its rows as values. */
export type RowReader = Pick<SqlEngine, 'run'>

/** Vectors and the keys of their chunks. */
export interface VectorBatch {
  /** Unique across all batches. */
  readonly keys: BigInt64Array
  /** Row after row, each with length 1. */
  readonly vectors: Float32Array
}

/** All vectors of a knowledge base at one revision. */
export interface VectorRows {
  readonly revision: number
  readonly dimensions: number
  /** The number of vectors in all batches. */
  readonly count: number
  /** Can be read only once. The reader owns each batch. */
  readonly batches: AsyncIterable<VectorBatch>
}

export interface VectorSource {
  /**
   * Reads all vectors within one transaction, which ends when `read` settles.
   * @throws AppError `knowledge_base_not_found` if it no longer exists or has no vectors; errors of
   * `read`
   */
  readAll<T>(ids: TableIds, read: (rows: VectorRows) => Promise<T>): Promise<T>
}

/** What one commit changed: first the keys are removed, then the vectors are added. */
export interface VectorChange {
  readonly removedKeys?: BigInt64Array
  /** Distinct keys. An existing key gets the new vector. */
  readonly keys?: BigInt64Array
  /** Row after row, each with length 1. */
  readonly vectors?: Float32Array
  /** The revision after the commit. */
  readonly revision: number
}

/** A committed write to the chunks of a knowledge base. */
export interface CommittedWrite {
  readonly revision: number
  /** null if unknown, because `needsChange` returned false. */
  readonly changed: ChunkChanges | null
  /** Whether terms of stored chunks changed. */
  readonly hasOtherTerms?: boolean
}

/** Which chunks and vectors one commit changed. */
export interface ChunkChanges extends Omit<VectorChange, 'revision'> {
  /** Existing chunks whose metadata changed. A changed text becomes a new chunk instead. */
  readonly rewrittenKeys?: BigInt64Array
}

export interface CommitListener {
  /** Whether `endCommit` should report what changed, which costs the write some time. */
  needsChange(kb: Pick<KnowledgeBase, 'id'>): boolean
  /** Called just before the commit: from now on, new transactions may see the write. */
  beginCommit(kb: Pick<KnowledgeBase, 'id'>): void
  /**
   * Called after the commit, before the client gets its answer. @param write null if the
   * transaction was rolled back
   */
  endCommit(kb: KnowledgeBase, write: CommittedWrite | null): void
  /** Called before `endCommit` when knowledge bases may have been created, changed or dropped. */
  catalogChanged(snapshot: CatalogSnapshot): void
}

export interface TopKSearch {
  /** With length 1. */
  readonly queryVector: Float32Array
  readonly k: number
}

export interface ExactVectors {
  readonly count: number
  /** As of the last change. */
  readonly revision: number
  /** The nearest `k` vectors, or all if there are fewer, nearest first. */
  search(search: TopKSearch, signal: AbortSignal): Promise<readonly NearestChunk[]>
}

/** An index from CREATE INDEX. While it cannot answer, the vectors in memory do. */
export interface Accelerator {
  /**
   * The nearest `k` vectors; approximate, so a nearer one is sometimes missed. null means that the
   * caller must compare all vectors.
   */
  search(search: TopKSearch, signal: AbortSignal): Promise<readonly NearestChunk[] | null>
  /** Called for each commit, after the vectors in memory are updated. */
  apply(change: VectorChange): void
  report(): IndexReport
  /** Resolves once nothing is being built. */
  settled(): Promise<void>
  close(): Promise<void>
}

/**
 * Named files with derived data, kept across restarts. A file may be missing, outdated or damaged
 * at any time, so readers must check it.
 */
export interface DerivedFiles {
  /** Returns null if the file does not exist. */
  read(name: string): Promise<Uint8Array | null>
  /** Replaces the file completely or not at all. @throws if it cannot be written */
  write(name: string, bytes: Uint8Array): Promise<void>
  keepOnly(names: ReadonlySet<string>): Promise<void>
}

/** Creates indexes of one type. */
export interface AcceleratorFactory {
  possibility(): IndexPossibility
  /**
   * Starts building in the background. @param index.options by their names in the statement; a
   * missing one has its default
   */
  create(
    index: {
      readonly ids: TableIds
      readonly dimensions: number
      readonly options: Readonly<Record<string, number>>
    },
    vectors: ExactVectors,
  ): Accelerator
}
