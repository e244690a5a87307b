/** What the search lab shows, and how it stands in the address. */
import type { SearchOrder } from '../../../api/knowledge-bases.ts'

export const COLUMNS = ['vector', 'keyword', 'hybrid', 'reranked'] as const
export type ColumnName = (typeof COLUMNS)[number]
export type Filters = Readonly<Record<string, unknown>>

export interface LabSettings {
  readonly text: string
  /** null: as the knowledge base says. */
  readonly alpha: number | null
  readonly fusion: string | null
  readonly k: number
  readonly filters: Filters
  /** A part of the map, as its address says it; null: all of it. */
  readonly within: string | null
  /** Whether the reranked column follows what is typed. */
  readonly reranks: boolean
}

export const K_DEFAULT = 10
const K_MAX = 100

/** Nothing is searched, everything is as the knowledge base says. */
export const DEFAULT_LAB: LabSettings = {
  text: '',
  alpha: null,
  fusion: null,
  k: K_DEFAULT,
  filters: {},
  within: null,
  reranks: false,
}

export function settingsOf(query: Readonly<Record<string, string | undefined>>): LabSettings {
  const alpha = query.alpha === undefined ? Number.NaN : Number(query.alpha)
  const k = Number(query.k)
  return {
    text: query.q ?? '',
    alpha: alpha >= 0 && alpha <= 1 ? alpha : null,
    fusion: query.fusion ?? null,
    k: Number.isInteger(k) && k > 0 ? Math.min(k, K_MAX) : K_DEFAULT,
    filters: parsedFilters(query.filters ?? '{}') ?? {},
    within: query.in ?? null,
    reranks: query.rerank === '1',
  }
}

/** `?q=…&alpha=…`; what is as ever is left out. */
export function queryOf(settings: LabSettings): string {
  const { text, alpha, fusion, k, filters, within, reranks } = settings
  const query = new URLSearchParams({
    ...(text === '' ? {} : { q: text }),
    ...(alpha === null ? {} : { alpha: String(alpha) }),
    ...(fusion === null ? {} : { fusion }),
    ...(k === K_DEFAULT ? {} : { k: String(k) }),
    ...(Object.keys(filters).length === 0 ? {} : { filters: JSON.stringify(filters) }),
    ...(within === null ? {} : { in: within }),
    ...(reranks ? { rerank: '1' } : {}),
  }).toString()
  return query === '' ? '' : `?${query}`
}

/** null: it is no JSON object. */
export function parsedFilters(text: string): Filters | null {
  try {
    const parsed: unknown = JSON.parse(text)
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    // JSON gives an object no other keys than strings.
    return isObject ? (parsed as Filters) : null
  } catch {
    return null
  }
}

/**
 * The search of a column; null: there is nothing to search for.
 * @param part of the map, as a filter; null: all of it
 */
export function orderOf(
  column: ColumnName,
  settings: LabSettings,
  part: Filters | null = null,
): SearchOrder | null {
  const { text, alpha, fusion, k } = settings
  if (text.trim() === '') return null
  const filters = part === null ? settings.filters : bothOf(settings.filters, part)
  const order = { query: text, k, filters, highlight: true, rerank: column === 'reranked' }
  if (column === 'vector' || column === 'keyword') return { ...order, mode: column }
  return {
    ...order,
    mode: 'hybrid',
    ...(alpha === null ? {} : { alpha }),
    ...(fusion === null ? {} : { fusion }),
  }
}

function bothOf(filters: Filters, part: Filters): Filters {
  return Object.keys(filters).length === 0 ? part : { and: [filters, part] }
}

/** The filter with one more condition: of a list, that it holds the value. */
export function withValue(filters: Filters, column: string, value: unknown, isItem: boolean) {
  return { ...filters, [`metadata.${column}`]: isItem ? { contains: value } : value }
}

export function withoutCondition(filters: Filters, key: string): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([one]) => one !== key))
}

/** The ranks of one chunk. */
export type Places = Readonly<Partial<Record<ColumnName, number>>>
export type Ranks = ReadonlyMap<string, Places>

/** Where each chunk stands in each column. */
export function ranksOf(
  found: readonly (readonly [ColumnName, readonly { chunk_id: string; rank: number }[]])[],
): Ranks {
  const ranks = new Map<string, Places>()
  for (const [column, hits] of found) {
    for (const { chunk_id: id, rank } of hits) ranks.set(id, { ...ranks.get(id), [column]: rank })
  }
  return ranks
}
