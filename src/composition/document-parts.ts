import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import type { DocumentUses } from '../query/documents/document-uses.ts'
import type { QueryDeps } from '../query/query-deps.ts'
import type { TransferUses } from '../query/transfer/move-knowledge-base.ts'
import { LATER } from './later.ts'

/** Loaded with the first request for documents. */
export function documentUsesOf(queryDeps: QueryDeps, reader: DocumentReader): DocumentUses {
  const uses = async (): Promise<DocumentUses> => {
    const { documentUses } = await LATER.documents()
    return documentUses(() => ({ ...queryDeps, chunker: reader.forRequest() }))
  }
  return {
    list: async (...request) => (await uses()).list(...request),
    chunks: async (...request) => (await uses()).chunks(...request),
    vectors: async (...request) => (await uses()).vectors(...request),
    read: async (...request) => (await uses()).read(...request),
    put: async (...request) => (await uses()).put(...request),
    patch: async (...request) => (await uses()).patch(...request),
    remove: async (...request) => (await uses()).remove(...request),
    removeAll: async (...request) => (await uses()).removeAll(...request),
  }
}

/** The same for knowledge bases as files. */
export function transferUsesOf(queryDeps: QueryDeps, reader: DocumentReader): TransferUses {
  return {
    export: async (kb, signal) => {
      return (await LATER.transfers()).exportKnowledgeBase(kb, queryDeps, signal)
    },
    import: async (request, signal) => {
      const { importKnowledgeBase } = await LATER.transfers()
      return importKnowledgeBase(request, { ...queryDeps, reader: reader.forRequest() }, signal)
    },
  }
}
