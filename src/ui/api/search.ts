/** Searches of a knowledge base. */
import type { SEARCH_ANSWER } from '../../http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../http/openapi/schema-words.ts'
import type { KnowledgeBaseName } from './knowledge-bases.ts'
import { path, request } from './request.ts'

export type SearchAnswer = Wire<typeof SEARCH_ANSWER>
export type SearchHit = SearchAnswer['results'][number]

/** The body of a search, as docs/search.md describes it. */
export interface SearchOrder {
  readonly query: string
  readonly k?: number
  readonly mode?: 'hybrid' | 'vector' | 'keyword'
  readonly alpha?: number
  readonly fusion?: string
  readonly filters?: Readonly<Record<string, unknown>>
  readonly rerank?: boolean
  readonly highlight?: boolean
  readonly explain?: boolean
  readonly neighbours?: number
}

export function searchPath(project: string, name: string): string {
  return path`/api/projects/${project}/knowledge_bases/${name}/search`
}

/** @throws ApiError */
export function search(
  { project, name }: KnowledgeBaseName,
  order: SearchOrder,
  signal?: AbortSignal,
): Promise<SearchAnswer> {
  return request(searchPath(project, name), { method: 'POST', json: order, signal })
}
