/** The settings of the search view, stored in its address. Pure functions. */

import { FUSIONS } from '../../../core/domain/hybrid-search.ts'
import { isObject, parsedJson } from '../../../core/json.ts'
import type { Filters } from '../../api/filters.ts'
import type { SearchOrder } from '../../api/knowledge-bases.ts'

export const RANKINGS = ['vector', 'keyword', 'hybrid', 'reranked'] as const
export type Ranking = (typeof RANKINGS)[number]

export interface SearchSettings {
  readonly text: string
  readonly mode: 'hybrid' | 'vector' | 'keyword'
  /** null for the knowledge base's setting. */
  readonly alpha: number | null
  readonly fusion: string | null
  readonly k: number
  readonly filters: Filters
  /** Whether the reranking model runs while the user types. */
  readonly reranks: boolean
  /** Whether all rankings are shown side by side. */
  readonly compares: boolean
}

const K_DEFAULT = 10
const K_MAX = 100

export function settingsOf(query: Readonly<Record<string, string | undefined>>): SearchSettings {
  const alpha = query.alpha === undefined ? Number.NaN : Number(query.alpha)
  const k = Number(query.k)
  return {
    text: query.q ?? '',
    mode: modeOf(query.mode),
    alpha: alpha >= 0 && alpha <= 1 ? alpha : null,
    fusion: FUSIONS.find((one) => one === query.fusion) ?? null,
    k: Number.isInteger(k) && k > 0 ? Math.min(k, K_MAX) : K_DEFAULT,
    filters: parsedFilters(query.filters ?? '{}') ?? {},
    reranks: query.rerank === '1',
    compares: query.compare === '1',
  }
}

export function modeOf(text: string | undefined): SearchSettings['mode'] {
  return (['vector', 'keyword'] as const).find((one) => one === text) ?? 'hybrid'
}

/** About the limit of proxies. The rest goes after the `#`, which is never sent. */
const QUERY_CHARS_MAX = 6000

/** Returns `?q=…&alpha=…`, without defaults. */
export function queryOf(settings: SearchSettings): string {
  const { text, mode, alpha, fusion, k, filters, reranks, compares } = settings
  const query = new URLSearchParams({
    ...(text === '' ? {} : { q: text }),
    ...(mode === 'hybrid' ? {} : { mode }),
    ...(alpha === null ? {} : { alpha: String(alpha) }),
    ...(fusion === null ? {} : { fusion }),
    ...(k === K_DEFAULT ? {} : { k: String(k) }),
    ...(Object.keys(filters).length === 0 ? {} : { filters: JSON.stringify(filters) }),
    ...(reranks ? { rerank: '1' } : {}),
    ...(compares ? { compare: '1' } : {}),
  }).toString()
  if (query === '') return ''
  return `${query.length > QUERY_CHARS_MAX ? '#' : '?'}${query}`
}

export function parsedFilters(text: string): Filters | null {
  const parsed = parsedJson(text)
  return isObject(parsed) ? parsed : null
}

/** The search for a ranking; null if there is nothing to search for. */
export function orderOf(ranking: Ranking, settings: SearchSettings): SearchOrder | null {
  const { text, alpha, fusion, k, filters } = settings
  if (text.trim() === '') return null
  const order = { query: text, k, filters, highlight: true, rerank: ranking === 'reranked' }
  if (ranking === 'vector' || ranking === 'keyword') return { ...order, mode: ranking }
  return {
    ...order,
    mode: 'hybrid',
    ...(alpha === null ? {} : { alpha }),
    ...(fusion === null ? {} : { fusion }),
  }
}

/** Adds a condition to the filter. For a list, the condition is that it contains the value. */
export function withValue(filters: Filters, column: string, value: unknown, isItem: boolean) {
  return { ...filters, [`metadata.${column}`]: isItem ? { contains: value } : value }
}

/** The rank of one chunk in each ranking. */
export type Ranks = Readonly<Partial<Record<Ranking, number>>>

export function ranksOf(
  found: readonly (readonly [Ranking, readonly { chunk_id: string; rank: number }[]])[],
): ReadonlyMap<string, Ranks> {
  const ranks = new Map<string, Ranks>()
  for (const [ranking, hits] of found) {
    for (const { chunk_id: id, rank } of hits) ranks.set(id, { ...ranks.get(id), [ranking]: rank })
  }
  return ranks
}
