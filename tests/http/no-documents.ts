import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import { notFound } from '../../src/core/errors.ts'

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
