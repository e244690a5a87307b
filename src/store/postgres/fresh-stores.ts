/** What reads and writes documents, over copies that are up to date. */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { ListedDocuments } from '../documents/listed-documents.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { StoredVectors } from '../documents/stored-vectors.ts'
import type { Database } from '../duckdb/database.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import { StoredKnowledgeBaseFiles } from '../tables/knowledge-base-files.ts'
import { StoredSizes } from '../upkeep/stored-sizes.ts'
import type { WorkingCopies } from './working-copies.ts'

/** The others write, which brings the copy up to date by itself. */
const FRESH_CHUNKS = ['storedTexts', 'nextChunkKey', 'chunkCount', 'contextsOf', 'cutCounts']

export function documentStores(parts: {
  readonly database: Database
  readonly engine: StoredEngine
  readonly chunks: StoredChunks
  readonly copies: WorkingCopies
}) {
  const { database, chunks, copies } = parts
  const fresh = copies.fresh.bind(copies)
  return {
    chunks: freshened(chunks, fresh, FRESH_CHUNKS),
    sizes: new StoredSizes(database),
    documents: freshened(new ListedDocuments(database), fresh),
    vectors: new StoredVectors(database),
    transfers: freshened(new StoredKnowledgeBaseFiles(parts), fresh, ['export']),
  }
}

/** A read of a knowledge base after its copy is up to date. */
type Reader = (kb: KnowledgeBase, ...others: readonly unknown[]) => unknown

/**
 * The same object, whose methods first bring the knowledge base, which is what they are called with, up to what its
 * database holds.
 * @param names of the methods; unset: all of its class
 */
function freshened<T extends object>(
  target: T,
  fresh: (kb: KnowledgeBase) => Promise<KnowledgeBase>,
  names: readonly string[] = methodNames(target),
): T {
  const readers = new Map<string | symbol, Reader>()
  for (const name of names) {
    const method: unknown = Reflect.get(target, name)
    if (typeof method !== 'function') throw new Error(`${name} is not a method`)
    readers.set(name, async (kb, ...others) => method.call(target, await fresh(kb), ...others))
  }
  return new Proxy(target, {
    get(_, name) {
      const reader = readers.get(name)
      if (reader !== undefined) return reader
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function methodNames(target: object): readonly string[] {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(target))
  return names.filter((name) => name !== 'constructor')
}
