/** What is stored in a knowledge base: its documents and chunks, read and changed. */
import { signal as signalOf } from '@preact/signals'
import type { Filters } from './filters.ts'
import type { KnowledgeBaseName } from './knowledge-bases.ts'
import type {
  ChunkList,
  DocumentList,
  DocumentTexts,
  SearchAnswer,
  StoredDocument,
} from './records.ts'
import { path, request } from './request.ts'

/** Counts what was changed here, or what the page knows has changed: what is shown of it is read again. */
export const documentChanges = signalOf(0)

async function changed<T>(work: Promise<T>): Promise<T> {
  const done = await work
  documentChanges.value += 1
  return done
}

interface ListPart {
  readonly limit: number
  readonly filters: Filters
  /** A part of the id or the title. */
  readonly named?: string | undefined
  readonly cursor?: string | undefined
  readonly offset?: number | undefined
}

export function addressOfApi({ project, name }: KnowledgeBaseName): string {
  return path`/api/projects/${project}/knowledge_bases/${name}`
}

/** @throws ApiError */
export function listDocuments(
  of: KnowledgeBaseName,
  part: ListPart,
  signal?: AbortSignal,
): Promise<DocumentList> {
  return request(`${addressOfApi(of)}/documents?${queryOf(part)}`, { signal })
}

/** @throws ApiError */
export function listChunks(
  of: KnowledgeBaseName,
  part: ListPart,
  signal?: AbortSignal,
): Promise<ChunkList> {
  return request(`${addressOfApi(of)}/chunks?${queryOf(part)}`, { signal })
}

function queryOf({ limit, filters, named, cursor, offset }: ListPart): URLSearchParams {
  const query = new URLSearchParams({ limit: String(limit) })
  if (Object.keys(filters).length > 0) query.set('filters', JSON.stringify(filters))
  if (named) query.set('q', named)
  if (cursor !== undefined) query.set('cursor', cursor)
  else if (offset !== undefined && offset > 0) query.set('offset', String(offset))
  return query
}

interface WordSearch {
  readonly words: string
  readonly filters: Filters
  readonly count: number
  readonly isPerDocument: boolean
}

/** The chunks that hold one of the words, the best first. @throws ApiError */
export function findWords(
  of: KnowledgeBaseName,
  { words, filters, count, isPerDocument }: WordSearch,
  signal?: AbortSignal,
): Promise<SearchAnswer> {
  const json = {
    query: words,
    mode: 'keyword',
    k: count,
    per_document: isPerDocument,
    filters,
    rerank: false,
  }
  return request(`${addressOfApi(of)}/search`, { method: 'POST', json, signal })
}

/** @throws ApiError */
export function getDocument(
  of: KnowledgeBaseName,
  id: string,
  signal?: AbortSignal,
): Promise<DocumentTexts> {
  return request(addressOfDocument(of, id), { signal })
}

interface SentDocument {
  readonly content: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Stores it in the place of the one with its id. @throws ApiError */
export function putDocument(
  of: KnowledgeBaseName,
  id: string,
  json: SentDocument,
): Promise<StoredDocument> {
  return changed(request(addressOfDocument(of, id), { method: 'PUT', json }))
}

/** A null takes a key away. @throws ApiError */
export function patchDocument(
  of: KnowledgeBaseName,
  id: string,
  metadata: Readonly<Record<string, unknown>>,
): Promise<StoredDocument> {
  return changed(request(addressOfDocument(of, id), { method: 'PATCH', json: { metadata } }))
}

/** All of them, or none. @throws ApiError */
export function deleteDocuments(
  of: KnowledgeBaseName,
  filters: Filters,
): Promise<{ readonly deleted: number; readonly chunks: number }> {
  const query = new URLSearchParams({ filters: JSON.stringify(filters) })
  return changed(request(`${addressOfApi(of)}/documents?${query}`, { method: 'DELETE' }))
}

/** Of addresses: what stands between may allow no more. */
const IDS_CHARS_MAX = 6000

/** Those with these ids, some hundred at a time. @throws ApiError: those before are deleted */
export async function deleteNamedDocuments(of: KnowledgeBaseName, ids: readonly string[]) {
  let deleted = 0
  let chunks = 0
  for (let first = 0; first < ids.length; ) {
    let next = first
    for (let chars = 0; next < ids.length && (next === first || chars < IDS_CHARS_MAX); next += 1) {
      chars += encodeURIComponent(ids[next] ?? '').length
    }
    const done = await deleteDocuments(of, { id: { in: ids.slice(first, next) } })
    deleted += done.deleted
    chunks += done.chunks
    first = next
  }
  return { deleted, chunks }
}

/** Every one of them. @throws ApiError */
export function deleteAllDocuments(
  of: KnowledgeBaseName,
): Promise<{ readonly deleted: number; readonly chunks: number }> {
  return changed(request(`${addressOfApi(of)}/documents?all=true`, { method: 'DELETE' }))
}

/** The ids `.` and `..` cannot stand in a path, see docs/documents.md. */
function addressOfDocument(of: KnowledgeBaseName, id: string): string {
  return `${addressOfApi(of)}${path`/documents/${id}`}`
}
