/**
 * Refreshes the local copies of remote knowledge bases before their documents are read or written.
 */

import { isHere, requireHere } from '../../core/domain/access/catalog-snapshot.ts'
import type { ChunkChange, DocumentChange, EmbeddedDocument } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { ListedDocuments } from '../documents/listed-documents.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { StoredVectors } from '../documents/stored-vectors.ts'
import type { Database } from '../duckdb/database.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import { StoredKnowledgeBaseFiles } from '../tables/knowledge-base-files.ts'
import { StoredSizes } from '../upkeep/stored-sizes.ts'
import type { TouchedRows } from './remote-rows.ts'
import type { WorkingCopies } from './working-copies.ts'

type Touch = (first: unknown) => TouchedRows

/** `everything` requires a full copy; `counts` are computed by PostgreSQL. */
type Needs = 'everything' | 'counts' | 'documents' | 'chunks' | Touch

const NOTHING: TouchedRows = { ids: [], keys: [] }
const nothing: Touch = () => NOTHING
// For methods whose argument is an id.
const idOf: Touch = (id) => ({ ...NOTHING, ids: [id as string] })
// For methods whose argument is a list of ids.
const idsOf: Touch = (ids) => ({ ...NOTHING, ids: ids as readonly string[] })
// For methods whose argument is a list of keys.
const keysOf: Touch = (keys) => ({ ...NOTHING, keys: keys as readonly bigint[] })
const documentsOf: Touch = (documents) => {
  // `DocumentStore` declares the parameter with this type.
  const all = documents as readonly EmbeddedDocument[]
  return { ...NOTHING, ids: all.map(({ document }) => document.id.toWellFormed()) }
}
const changesOf: Touch = (changes) => {
  // `ChunkStore` declares the parameter with this type.
  const all = changes as readonly Partial<ChunkChange & DocumentChange>[]
  const ids = all.flatMap(({ documentId = null }) => documentId?.toWellFormed() ?? [])
  return { ids, keys: all.flatMap(({ chunkKey = null }) => chunkKey ?? []) }
}

const CHUNK_NEEDS: Readonly<Record<string, Needs>> = {
  storedTexts: idsOf,
  nextChunkKey: nothing,
  chunkCount: 'chunks',
  contextsOf: keysOf,
  cutCounts: nothing,
  replaceDocuments: documentsOf,
  removeDocuments: idsOf,
  removeChunks: keysOf,
  changeChunks: changesOf,
  changeDocuments: changesOf,
}

const DOCUMENT_NEEDS: Readonly<Record<string, Needs>> = {
  count: 'documents',
  counts: 'counts',
  chunkCount: 'chunks',
  page: 'everything',
  chunkPage: 'everything',
  find: idsOf,
  chunksOf: idOf,
  cutChunks: idsOf,
  chunks: keysOf,
  vectorsOf: keysOf,
}

const FILE_NEEDS: Readonly<Record<string, Needs>> = { export: 'everything', import: 'everything' }

/** Methods that update the copy themselves. */
const WRITES: ReadonlySet<string> = new Set([
  'replaceDocuments',
  'removeDocuments',
  'removeChunks',
  'changeChunks',
  'changeDocuments',
  'import',
])

export function documentStores(parts: {
  readonly database: Database
  readonly engine: StoredEngine
  readonly chunks: StoredChunks
  readonly copies: WorkingCopies
}) {
  const { database, chunks, copies } = parts
  return {
    chunks: freshened(chunks, copies, CHUNK_NEEDS),
    sizes: new StoredSizes(database),
    documents: freshened(new ListedDocuments(database), copies, DOCUMENT_NEEDS),
    vectors: new StoredVectors(database),
    transfers: freshened(new StoredKnowledgeBaseFiles(parts), copies, FILE_NEEDS),
  }
}

type Method = (kb: KnowledgeBase, ...others: readonly unknown[]) => unknown

/** Methods first fetch the rows they need and apply the definition from the database. */
function freshened<T extends object>(
  target: T,
  copies: WorkingCopies,
  needs: Readonly<Record<string, Needs>>,
): T {
  const methods = new Map<string | symbol, Method>()
  for (const [name, need] of Object.entries(needs)) {
    const method: unknown = Reflect.get(target, name)
    if (typeof method !== 'function') throw new Error(`${name} is not a method`)
    methods.set(name, async (kb, ...others) => {
      const work = (now: KnowledgeBase): unknown => method.call(target, now, ...others)
      if (kb.remote === undefined) return work(kb)
      if (isHere(kb)) return work(WRITES.has(name) ? kb : await copies.fresh(kb))
      if (need === 'everything') return requireHere(kb)
      if (need === 'counts') return copies.countsOf(kb)
      if (need === 'documents' || need === 'chunks') return (await copies.countsOf(kb))[need]
      return copies.withRows(kb, need(others[0]), async (now) => work(now))
    })
  }
  return new Proxy(target, {
    get(_, name) {
      const own = methods.get(name)
      if (own !== undefined) return own
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
