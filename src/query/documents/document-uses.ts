/** What the routes of documents call. */
import type { Row } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { StoredChunk, StoredDocument } from '../../core/domain/ports/document-ports.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import {
  deleteDocument,
  deleteDocuments,
  patchDocument,
  putDocument,
  type SentDocument,
} from './change-documents.ts'
import {
  type ListOrder,
  type ListPage,
  listChunks,
  listDocuments,
  type Selection,
} from './list-documents.ts'
import { type DocumentTexts, readDocument } from './one-document.ts'

type Kb = KnowledgeBase

export interface DocumentUses {
  list(kb: Kb, order: ListOrder, signal: AbortSignal): Promise<ListPage<StoredDocument>>
  chunks(kb: Kb, order: ListOrder, signal: AbortSignal): Promise<ListPage<StoredChunk>>
  /** By the keys of chunks. */
  vectors(kb: Kb, keys: readonly bigint[]): Promise<ReadonlyMap<bigint, Float32Array>>
  read(kb: Kb, id: string, signal: AbortSignal): Promise<DocumentTexts>
  put(
    kb: Kb,
    sent: SentDocument,
    signal: AbortSignal,
  ): Promise<{ readonly document: StoredDocument; readonly isNew: boolean }>
  patch(kb: Kb, change: { readonly id: string; readonly metadata: Row }): Promise<StoredDocument>
  remove(kb: Kb, id: string): Promise<void>
  removeAll(
    kb: Kb,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<{ readonly documents: number; readonly chunks: number }>
}

/** @param depsOf what one request gets */
export function documentUses(depsOf: () => QueryDeps): DocumentUses {
  return {
    list: (kb, order, signal) => listDocuments(kb, order, depsOf(), signal),
    chunks: (kb, order, signal) => listChunks(kb, order, depsOf(), signal),
    vectors: (kb, keys) => depsOf().documents.vectorsOf(kb, keys),
    read: (kb, id, signal) => readDocument(kb, id, depsOf(), signal),
    put: (kb, sent, signal) => putDocument(kb, sent, depsOf(), signal),
    patch: (kb, change) => patchDocument(kb, change, depsOf()),
    remove: (kb, id) => deleteDocument(kb, id, depsOf()),
    removeAll: (kb, selection, signal) => deleteDocuments(kb, selection, depsOf(), signal),
  }
}
