/** What the list of documents shows, as its address says it. */
import { type Filters, isFields } from '../../../api/filters.ts'

export const PAGE_ROWS = 50

export interface ListAddress {
  readonly shows: 'documents' | 'chunks'
  readonly words: string
  /** Where the words are looked for: in texts, or in ids and titles. */
  readonly within: 'text' | 'name'
  readonly filters: Filters
  /** From 1 on. */
  readonly page: number
  /** Where that page begins, where it is known: the server then reads no other. */
  readonly cursor?: string | undefined
}

export function listAddressOf(query: Readonly<Record<string, string>>): ListAddress {
  const page = Number.parseInt(query.page ?? '1', 10)
  return {
    shows: query.show === 'chunks' ? 'chunks' : 'documents',
    words: query.q ?? '',
    within: query.in === 'name' ? 'name' : 'text',
    filters: filtersIn(query.filters),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    cursor: query.cursor,
  }
}

function filtersIn(text: string | undefined): Filters {
  if (text === undefined) return {}
  try {
    const parsed: unknown = JSON.parse(text)
    return isFields(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

export function queryOfList(shown: ListAddress): string {
  const query = new URLSearchParams()
  if (shown.shows === 'chunks') query.set('show', 'chunks')
  if (shown.words !== '') query.set('q', shown.words)
  if (shown.within === 'name') query.set('in', 'name')
  if (Object.keys(shown.filters).length > 0) query.set('filters', JSON.stringify(shown.filters))
  if (shown.page > 1) query.set('page', String(shown.page))
  if (shown.page > 1 && shown.cursor !== undefined) query.set('cursor', shown.cursor)
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
