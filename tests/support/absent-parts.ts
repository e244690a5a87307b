/** Parts of a server that do nothing, for tests that do not need them. */
import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import type { RunTraces } from '../../src/core/domain/ports/conversation-ports.ts'
import type { SourceKeeping } from '../../src/core/domain/ports/job-ports.ts'
import type { KnowledgeBaseStorages } from '../../src/core/domain/ports/storage-ports.ts'
import type { Reembeddings } from '../../src/core/domain/ports/store-ports.ts'
import { notFound } from '../../src/core/errors.ts'

/** Stores nothing. */
export const NO_TRACES: RunTraces = {
  begin: () => ({ turn() {}, step() {}, end() {} }),
}

/** Background work that does nothing. */
export const NO_REEMBEDDINGS: Reembeddings = { wake: () => {}, progressOf: () => null }

/** For tests without sync. */
export const NO_SOURCES: SourceKeeping = {
  list: () => [],
  create: () => Promise.reject(new Error('no sources')),
  change: () => Promise.reject(new Error('no sources')),
  drop: () => Promise.reject(new Error('no sources')),
  run: () => Promise.reject(new Error('no sources')),
  runs: () => Promise.reject(new Error('no sources')),
  stateOf: () => {
    throw new Error('no sources')
  },
}

const notExpected = () => Promise.reject(new Error('not expected'))

/** Every knowledge base is stored here. */
export const NO_STORAGES: KnowledgeBaseStorages = {
  create: notExpected,
  definitionOf: notExpected,
  drop: async () => {},
  remove: notExpected,
  fresh: async (kb) => kb,
  redefine: async () => {},
  index: async () => {},
}

/** Nothing is stored, attached or embedded. */
export const NO_DOCUMENTS: Pick<ServerDeps, 'documents' | 'embeddings' | 'attachments' | 'maps'> = {
  documents: {
    list: async () => ({ items: [], total: 0, next: null }),
    chunks: async () => ({ items: [], total: 0, next: null }),
    vectors: async () => new Map(),
    read: noDocument,
    put: noDocument,
    patch: noDocument,
    remove: noDocument,
    removeAll: async () => ({ documents: 0, chunks: 0 }),
  },
  embeddings: {
    embedder: () => ({ embed: async () => [] }),
    counter: () => ({ count: () => 0, fit: () => 0 }),
  },
  maps: {
    stateOf: async () => ({ map: null, isCurrent: false, progress: null, failure: null }),
    values: noDocument,
    chunks: async () => [],
  },
  attachments: { attach: () => Promise.reject(new Error('no jobs')), of: async () => [] },
}

export function noDocument(): Promise<never> {
  return Promise.reject(notFound('document', 'any'))
}
