import type { CatalogSnapshot } from '../core/domain/access/catalog-snapshot.ts'
import type {
  IndexPossibility,
  IndexReport,
  VectorIndexType,
} from '../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import type {
  AcceleratorFactory,
  ColumnReader,
  CommitListener,
  DerivedFiles,
  RowReader,
  VectorSource,
} from '../core/domain/ports/retrieval-ports.ts'
import type {
  ChunkRows,
  CommittedStates,
  KnownChunks,
  NearestChunks,
  VectorIndexStates,
  WatchedState,
} from '../core/domain/ports/search-ports.ts'
import type { Catalog } from '../core/domain/ports/store-ports.ts'
import { RowCaches } from './rows/row-caches.ts'
import { VectorCaches, type VectorCachesOptions } from './vector-caches.ts'

export interface RetrievalStore {
  readonly catalog: Pick<Catalog, 'snapshot'>
  readonly vectors: VectorSource
  readonly engine: ColumnReader & RowReader
  readonly hnsw: AcceleratorFactory
  readonly derived?: DerivedFiles
  setListener(listener: CommitListener): void
}

export interface RetrievalOptions extends VectorCachesOptions {
  /** The limit for chunk rows in memory; 0 keeps none. */
  readonly rowBytesMax: number
}

export interface Retrieval {
  /** Must be closed before the store. */
  readonly vectorCaches: VectorCaches
  readonly rowCaches: RowCaches
  readonly commits: CommitWatch
  readonly indexStates: VectorIndexStates
  readonly ports: {
    readonly nearest: NearestChunks
    readonly known: KnownChunks
    readonly rows: ChunkRows
    readonly commits: CommittedStates
    readonly indexes: VectorIndexStates
  }
}

/** From here on, they follow the store's commits. */
export function openRetrieval(
  store: RetrievalStore,
  options: RetrievalOptions,
  follower?: Pick<CommitListener, 'catalogChanged'>,
): Retrieval {
  const { vectors, engine: reader, hnsw, derived } = store
  const kept = derived === undefined ? {} : { derived }
  const snapshot = () => store.catalog.snapshot()
  const vectorCaches = new VectorCaches({ vectors, reader, hnsw, snapshot, ...kept }, options)
  const rowCaches = new RowCaches({ reader, snapshot }, { bytesMax: options.rowBytesMax })
  const commits = new CommitWatch(snapshot)
  store.setListener(allTold([commits, vectorCaches, rowCaches], follower))
  const indexStates = indexStatesOf({ vectorCaches, hnsw, snapshot })
  const searched = { nearest: vectorCaches, known: vectorCaches, rows: rowCaches }
  const ports = { ...searched, commits, indexes: indexStates }
  return { vectorCaches, rowCaches, commits, indexStates, ports }
}

function allTold(
  listeners: readonly CommitListener[],
  follower?: Pick<CommitListener, 'catalogChanged'>,
): CommitListener {
  return {
    needsChange: (kb) => listeners.some((one) => one.needsChange(kb)),
    beginCommit(kb) {
      for (const one of listeners) one.beginCommit(kb)
    },
    endCommit(kb, write) {
      for (const one of listeners) one.endCommit(kb, write)
    },
    catalogChanged(snapshot) {
      for (const one of listeners) one.catalogChanged(snapshot)
      follower?.catalogChanged(snapshot)
    },
  }
}

function indexStatesOf(given: {
  readonly vectorCaches: Pick<VectorCaches, 'access' | 'reportOf'>
  readonly hnsw: Pick<AcceleratorFactory, 'possibility'>
  snapshot(): CatalogSnapshot
}): VectorIndexStates {
  const { vectorCaches, hnsw, snapshot } = given
  const possible = (): Readonly<Record<VectorIndexType, IndexPossibility>> => {
    return { exact: { possible: true }, ivf: { possible: true }, hnsw: hnsw.possibility() }
  }
  const reportOf = (kb: KnowledgeBase): IndexReport => {
    const type = kb.vectorIndex?.type
    const possibility = type === undefined ? null : possible()[type]
    if (possibility?.possible === false) {
      const detail = `${possibility.reason}; all vectors are compared meanwhile`
      return { state: 'unavailable', vectorCount: null, detail }
    }
    const report = vectorCaches.reportOf(kb)
    if (report !== null) return report
    return { state: 'exact', vectorCount: null, detail: vectorCaches.access(kb).detail }
  }
  const states = () => {
    return snapshot().knowledgeBases.map((kb) => ({
      project: kb.projectName,
      knowledgeBase: kb.name,
      type: kb.vectorIndex?.type ?? ('auto' as const),
      ...reportOf(kb),
    }))
  }
  return { possible, states }
}

interface Commits {
  /** The number of commits that began. */
  count: number
  /** The number of commits that have not ended yet. */
  pending: number
  ended: PromiseWithResolvers<void> | null
}

/** Results from before a commit are not used after it. */
class CommitWatch implements CommittedStates, CommitListener {
  readonly #snapshot: () => CatalogSnapshot
  readonly #commits = new Map<number, Commits>()

  constructor(snapshot: () => CatalogSnapshot) {
    this.#snapshot = snapshot
  }

  async watch(kb: Pick<KnowledgeBase, 'id'>): Promise<WatchedState | null> {
    const commits = this.#commitsOf(kb)
    while (commits.ended !== null) await commits.ended.promise
    const knowledgeBase = this.current(kb)
    if (knowledgeBase === undefined) return null
    const { count: number } = commits
    return { knowledgeBase, number, isCurrent: () => commits.count === number }
  }

  current({ id }: Pick<KnowledgeBase, 'id'>): KnowledgeBase | undefined {
    return this.#snapshot().knowledgeBases.find((kb) => kb.id === id)
  }

  isCommitting(kb: Pick<KnowledgeBase, 'id'>): boolean {
    return this.#commitsOf(kb).pending > 0
  }

  needsChange(): boolean {
    return false
  }

  beginCommit(kb: Pick<KnowledgeBase, 'id'>): void {
    const commits = this.#commitsOf(kb)
    commits.count += 1
    commits.pending += 1
    commits.ended ??= Promise.withResolvers()
  }

  endCommit(kb: Pick<KnowledgeBase, 'id'>): void {
    const commits = this.#commitsOf(kb)
    commits.pending = Math.max(0, commits.pending - 1)
    if (commits.pending > 0) return
    commits.ended?.resolve()
    commits.ended = null
  }

  catalogChanged({ knowledgeBases }: CatalogSnapshot): void {
    // Done rarely, because it takes time for each knowledge base.
    if (this.#commits.size <= 2 * knowledgeBases.length + 16) return
    const ids = new Set(knowledgeBases.map(({ id }) => id))
    for (const id of this.#commits.keys()) if (!ids.has(id)) this.#commits.delete(id)
  }

  #commitsOf({ id }: Pick<KnowledgeBase, 'id'>): Commits {
    const known = this.#commits.get(id)
    if (known !== undefined) return known
    const commits: Commits = { count: 0, pending: 0, ended: null }
    this.#commits.set(id, commits)
    return commits
  }
}
