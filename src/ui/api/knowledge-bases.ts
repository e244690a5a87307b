/** Knowledge bases: made, filled in the background, counted. */
import type { SEARCH_ANSWER } from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import type { Job, KnowledgeBase, Source, Usage, UsageList } from './records.ts'
import { path, request } from './request.ts'
import { quoted, runSql } from './sql.ts'

export interface KnowledgeBaseName {
  readonly project: string
  readonly name: string
}

export interface ModelChoice {
  readonly provider: string
  readonly model_name: string
  readonly api_key?: string
  readonly base_url?: string
}

/** What it is made of; everything but the name has a default. */
export interface KnowledgeBaseDefinition {
  readonly name: string
  readonly content_columns?: readonly string[]
  readonly metadata_columns?: readonly string[]
  readonly id_column?: string
  readonly language?: string
  readonly embedding_model?: ModelChoice
  readonly preprocessing?: Readonly<Record<string, unknown>>
}

/** One of the four ways in. */
export type Insert =
  | { readonly rows: readonly Readonly<Record<string, unknown>>[] }
  | { readonly files: readonly string[] }
  | { readonly query: string }
  | {
      readonly urls: readonly string[]
      readonly limit?: number
      readonly crawl_depth?: number
      readonly filters?: { readonly allowed_domains: readonly string[] }
    }

/** @throws ApiError */
export function createKnowledgeBase(
  project: string,
  definition: KnowledgeBaseDefinition,
): Promise<KnowledgeBase> {
  const json = { knowledge_base: definition }
  return request(path`/api/projects/${project}/knowledge_bases`, { method: 'POST', json })
}

/** @throws ApiError */
export function getKnowledgeBase(
  project: string,
  name: string,
  signal?: AbortSignal,
): Promise<KnowledgeBase> {
  return request(path`/api/projects/${project}/knowledge_bases/${name}`, { signal })
}

/** Stores while nobody waits; what cannot be stored is left out, and listed by the job. @throws ApiError */
export function insertInBackground(project: string, name: string, insert: Insert): Promise<Job> {
  const json = { knowledge_base: { ...insert, background: true, error: 'skip' } }
  const to = path`/api/projects/${project}/knowledge_bases/${name}`
  return request(to, { method: 'PUT', json })
}

/** @throws SqlError, ApiError */
export async function countContents(
  project: string,
  name: string,
  signal?: AbortSignal,
): Promise<{ readonly documents: number; readonly chunks: number }> {
  const sql = `SELECT count(DISTINCT id), count(*) FROM ${quoted(project)}.${quoted(name)}`
  const [counts = []] = (await runSql({ sql, signal })).rows
  return { documents: Number(counts[0]), chunks: Number(counts[1]) }
}

/** What is in a knowledge base now, and what finds the nearest of its vectors; undefined: there is none of that name. */
export type UsageByName = (project: string, name: string) => Usage | undefined

/** Of all knowledge bases at once; the disk is left out. @throws ApiError */
export async function usageByName(signal?: AbortSignal): Promise<UsageByName> {
  const items: Usage[] = []
  for (let offset: number | null = 0; offset !== null; ) {
    const address = `/api/usage?without_disk=true&limit=${USAGE_MAX}&offset=${offset}`
    const page: UsageList = await request(address, { signal })
    items.push(...page.items)
    offset = page.next
  }
  const keyOf = (project: string, name: string) => JSON.stringify([project, name])
  const found = new Map(items.map((one) => [keyOf(one.project, one.knowledge_base), one]))
  return (project, name) => found.get(keyOf(project, name))
}

/** At once. */
const USAGE_MAX = 1000

/** What finds the nearest vectors of a knowledge base now. */
interface IndexState {
  readonly type: string
  readonly state: string
  /** `all vectors are compared, in 4 MiB of memory`. */
  readonly detail: string
}

/** Of the knowledge base of a project; undefined: there is none of that name. */
type IndexStates = (project: string, name: string) => IndexState | undefined

/** Of all knowledge bases at once. @throws ApiError */
export async function indexStates(signal?: AbortSignal): Promise<IndexStates> {
  const { columns, rows } = await runSql({ sql: 'SHOW INDEXES', signal })
  const at = (row: readonly unknown[], column: string) => String(row[columns.indexOf(column)] ?? '')
  const keyOf = (project: string, name: string) => JSON.stringify([project, name])
  const states = new Map(
    rows.map((row) => [
      keyOf(at(row, 'project'), at(row, 'knowledge_base')),
      { type: at(row, 'type'), state: at(row, 'state'), detail: at(row, 'detail') },
    ]),
  )
  return (project, name) => states.get(keyOf(project, name))
}

/** What knowledge bases are kept in step with. */
export interface SourceDefinition {
  readonly name: string
  readonly kind: Source['kind']
  readonly path?: string
  readonly url?: string
  readonly query?: string
  readonly table?: string
  readonly schedule?: string
}

const inSources = (project: string, name: string) =>
  path`/api/projects/${project}/knowledge_bases/${name}/sources`

/** @throws ApiError */
export function listSources(
  project: string,
  name: string,
  signal?: AbortSignal,
): Promise<readonly Source[]> {
  return request(inSources(project, name), { signal })
}

/** @throws ApiError */
export function addSource(
  project: string,
  name: string,
  source: SourceDefinition,
): Promise<Source> {
  return request(inSources(project, name), { method: 'POST', json: { source } })
}

/** @throws ApiError */
export function runSource({ project, knowledge_base: name, id }: Source): Promise<Job> {
  return request(`${inSources(project, name)}/${id}/run`, { method: 'POST' })
}

/** Its documents stay. @throws ApiError */
export function removeSource({ project, knowledge_base: name, id }: Source): Promise<void> {
  return request(`${inSources(project, name)}/${id}`, { method: 'DELETE' })
}

/** Searches of a knowledge base. */

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
