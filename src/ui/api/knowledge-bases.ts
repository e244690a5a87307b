/** Knowledge bases: create, insert, count, search, sync. Every call can throw ApiError. */
import { quote } from '../../core/domain/names.ts'
import type { Job, KnowledgeBase, SearchAnswer, Source, Usage, UsageList } from './records.ts'
import { path, request } from './request.ts'
import { runSql } from './sql.ts'

export interface KnowledgeBaseName {
  readonly project: string
  readonly name: string
}

const at = (project: string, name: string) => path`/api/projects/${project}/knowledge_bases/${name}`

export interface ModelChoice {
  readonly provider: string
  readonly model_name?: string
  readonly api_key?: string
  readonly base_url?: string
}

/** Everything but the name has a default. */
export interface KnowledgeBaseDefinition {
  readonly name: string
  readonly content_columns?: readonly string[]
  readonly metadata_columns?: readonly string[]
  readonly id_column?: string
  readonly language?: string
  readonly embedding_model?: ModelChoice
  readonly preprocessing?: Readonly<Record<string, unknown>>
}

/** One of the four kinds of input. */
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

export function createKnowledgeBase(project: string, knowledge_base: KnowledgeBaseDefinition) {
  const to = path`/api/projects/${project}/knowledge_bases`
  return request<KnowledgeBase>(to, { method: 'POST', json: { knowledge_base } })
}

export const getKnowledgeBase = (project: string, name: string, signal?: AbortSignal) =>
  request<KnowledgeBase>(at(project, name), { signal })

/** The job skips items that cannot be stored, and lists them. */
export function insertInBackground(project: string, name: string, insert: Insert) {
  const json = { knowledge_base: { ...insert, background: true, error: 'skip' } }
  return request<Job>(at(project, name), { method: 'PUT', json })
}

export async function countContents(
  project: string,
  name: string,
  signal?: AbortSignal,
): Promise<{ readonly documents: number; readonly chunks: number }> {
  const sql = `SELECT count(DISTINCT id), count(*) FROM ${quote(project)}.${quote(name)}`
  const [counts = []] = (await runSql({ sql, signal })).rows
  return { documents: Number(counts[0]), chunks: Number(counts[1]) }
}

/** Returns undefined for an unknown knowledge base. */
type ByName<T> = (project: string, name: string) => T | undefined

function byName<T>(entries: readonly (readonly [string, string, T])[]): ByName<T> {
  const keyOf = (project: string, name: string) => JSON.stringify([project, name])
  const found = new Map(entries.map(([project, name, one]) => [keyOf(project, name), one]))
  return (project, name) => found.get(keyOf(project, name))
}

/** The usage of each knowledge base, without disk space. */
export type UsageByName = ByName<Usage>

const USAGE_MAX = 1000

export async function usageByName(signal?: AbortSignal): Promise<UsageByName> {
  const items: Usage[] = []
  for (let offset: number | null = 0; offset !== null; ) {
    const address = `/api/usage?without_disk=true&limit=${USAGE_MAX}&offset=${offset}`
    const page: UsageList = await request(address, { signal })
    items.push(...page.items)
    offset = page.next
  }
  return byName(items.map((one) => [one.project, one.knowledge_base, one]))
}

export async function indexStates(signal?: AbortSignal): Promise<
  ByName<{
    readonly type: string
    readonly state: string
    /** For example `exact search, 4 MiB in memory`. */
    readonly detail: string
  }>
> {
  const { columns, rows } = await runSql({ sql: 'SHOW INDEXES', signal })
  const of = (row: readonly unknown[], column: string) => String(row[columns.indexOf(column)] ?? '')
  return byName(
    rows.map((row) => [
      of(row, 'project'),
      of(row, 'knowledge_base'),
      { type: of(row, 'type'), state: of(row, 'state'), detail: of(row, 'detail') },
    ]),
  )
}

export interface SourceDefinition {
  readonly name: string
  readonly kind: Source['kind']
  readonly path?: string
  readonly url?: string
  readonly query?: string
  readonly table?: string
  readonly schedule?: string
}

export const listSources = (project: string, name: string, signal?: AbortSignal) =>
  request<readonly Source[]>(`${at(project, name)}/sources`, { signal })

export const addSource = (project: string, name: string, source: SourceDefinition) =>
  request<Source>(`${at(project, name)}/sources`, { method: 'POST', json: { source } })

export const addressOfSource = ({ project, knowledge_base: name, id }: Source) =>
  `${at(project, name)}/sources/${id}`

export const runSource = (source: Source) =>
  request<Job>(`${addressOfSource(source)}/run`, { method: 'POST' })

export type { SearchAnswer }
export type SearchHit = SearchAnswer['results'][number]

/** The body of a search, see docs/search.md. */
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

export const searchPath = (project: string, name: string) => `${at(project, name)}/search`

export const search = (
  { project, name }: KnowledgeBaseName,
  json: SearchOrder,
  signal?: AbortSignal,
) => request<SearchAnswer>(searchPath(project, name), { method: 'POST', json, signal })
