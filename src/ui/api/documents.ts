/** Documents and chunks of a knowledge base. Every call can throw ApiError. */
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

/** Increases with each known change, after which shown documents are reloaded. */
export const documentChanges = signalOf(0)

async function changed<T>(work: Promise<T>): Promise<T> {
  const done = await work
  documentChanges.value += 1
  return done
}

interface ListPart {
  readonly limit: number
  readonly filters: Filters
  readonly named?: string | undefined
  readonly cursor?: string | undefined
  readonly offset?: number | undefined
}

export function addressOfApi({ project, name }: KnowledgeBaseName): string {
  return path`/api/projects/${project}/knowledge_bases/${name}`
}

/** A path cannot contain the ids `.` and `..`, see docs/documents.md. */
function addressOfDocument(of: KnowledgeBaseName, id: string): string {
  return `${addressOfApi(of)}${path`/documents/${id}`}`
}

export const listDocuments = (of: KnowledgeBaseName, part: ListPart, signal?: AbortSignal) =>
  request<DocumentList>(`${addressOfApi(of)}/documents?${queryOf(part)}`, { signal })

export const listChunks = (of: KnowledgeBaseName, part: ListPart, signal?: AbortSignal) =>
  request<ChunkList>(`${addressOfApi(of)}/chunks?${queryOf(part)}`, { signal })

function queryOf({ limit, filters, named, cursor, offset }: ListPart): URLSearchParams {
  return new URLSearchParams({
    limit: String(limit),
    ...(Object.keys(filters).length > 0 ? { filters: JSON.stringify(filters) } : {}),
    ...(named ? { q: named } : {}),
    ...(cursor === undefined ? {} : { cursor }),
    ...(cursor === undefined && offset ? { offset: String(offset) } : {}),
  })
}

/** Finds the chunks with at least one of the words, best first. */
export function findWords(
  of: KnowledgeBaseName,
  props: {
    readonly words: string
    readonly filters: Filters
    readonly count: number
    readonly isPerDocument: boolean
  },
  signal?: AbortSignal,
) {
  const { words: query, filters, count: k, isPerDocument: per_document } = props
  const json = { query, mode: 'keyword', k, per_document, filters, rerank: false }
  return request<SearchAnswer>(`${addressOfApi(of)}/search`, { method: 'POST', json, signal })
}

export const getDocument = (of: KnowledgeBaseName, id: string, signal?: AbortSignal) =>
  request<DocumentTexts>(addressOfDocument(of, id), { signal })

interface SentDocument {
  readonly content: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, unknown>>
}

export const putDocument = (of: KnowledgeBaseName, id: string, json: SentDocument) =>
  changed(request<StoredDocument>(addressOfDocument(of, id), { method: 'PUT', json }))

/** null deletes a key. */
export function patchDocument(
  of: KnowledgeBaseName,
  id: string,
  metadata: SentDocument['metadata'],
) {
  const json = { metadata }
  return changed(request<StoredDocument>(addressOfDocument(of, id), { method: 'PATCH', json }))
}

interface Deleted {
  readonly deleted: number
  readonly chunks: number
}

function deleteWhere(of: KnowledgeBaseName, query: Readonly<Record<string, string>>) {
  const address = `${addressOfApi(of)}/documents?${new URLSearchParams(query)}`
  return changed(request<Deleted>(address, { method: 'DELETE' }))
}

/** Deletes all of them or none. */
export const deleteDocuments = (of: KnowledgeBaseName, filters: Filters) =>
  deleteWhere(of, { filters: JSON.stringify(filters) })

export const deleteAllDocuments = (of: KnowledgeBaseName) => deleteWhere(of, { all: 'true' })

/** The total length of ids in one request, because proxies and servers limit URLs. */
const IDS_CHARS_MAX = 6000

/** Deletes a few hundred at a time. If a request fails, earlier ones have succeeded. */
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
