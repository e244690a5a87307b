/** Lists as in OpenAI's API: a page starts after the id of an item. */
import { type TSchema, t } from 'elysia'
import type { AppError } from '../../../core/errors.ts'
import { millisOf } from '../../../core/time.ts'
import {
  choice,
  queryParameters,
  text,
  wholeNumber,
  wrongParameter,
} from '../bodies/query-parameters.ts'
import { orNull } from '../request/schema-words.ts'

export interface PageOrder {
  readonly limit: number
  readonly isAscending: boolean
  /** Return the items after this id; null means from the start. */
  readonly after: string | null
  /** Return the items before this id; null means no end. */
  readonly before: string | null
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly hasMore: boolean
}

export function pageParameters({ unset, max } = { unset: 20, max: 100 }) {
  return {
    limit: wholeNumber({ min: 1, max, unset, description: 'Items per page' }),
    order: choice(['desc', 'asc'], {
      description: '`desc` (newest first, the default) or `asc`',
    }),
    after: text({ description: 'The page starts after this id' }),
    before: text({ description: 'The page ends before this id' }),
  }
}

/** Clients of OpenAI's API send parameters that Eider does not use. */
export const PAGE_READING = { ignoresOthers: true }

export const PAGE = queryParameters(pageParameters(), PAGE_READING)

/** @throws AppError `invalid_request` naming the parameter */
export function pageOrderOf(sent: ReturnType<typeof PAGE.read>): PageOrder {
  const { limit, order, after = null, before = null } = sent
  if (after !== null && before !== null) {
    throw wrongParameter('before', 'and "after" cannot be used together')
  }
  return { limit, isAscending: order === 'asc', after, before }
}

/** Of items given oldest first. @throws AppError `invalid_request` for an unknown id */
export function pageOf<T>(
  all: readonly T[],
  idOf: (item: T) => string,
  { limit, isAscending, after, before }: PageOrder,
): Page<T> {
  // A page before an id is the page after it in reverse order.
  const isBefore = before !== null
  const ordered = isAscending === isBefore ? all.toReversed() : all
  const id = before ?? after
  const start = id === null ? 0 : ordered.findIndex((item) => idOf(item) === id) + 1
  if (id !== null && start === 0) throw notListed(isBefore ? 'before' : 'after', id)
  const items = ordered.slice(start, start + limit)
  const hasMore = ordered.length > start + limit
  return { items: isBefore ? items.toReversed() : items, hasMore }
}

export function notListed(param: 'after' | 'before', id: string): AppError {
  return wrongParameter(param, `is "${id.slice(0, 100)}", which is not in the list`)
}

export function pageRecord<T extends { readonly id: string }>({ items, hasMore }: Page<T>) {
  return {
    object: 'list' as const,
    data: items,
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
    has_more: hasMore,
  }
}

export function listSchema<S extends TSchema>(item: S) {
  return t.Object({
    object: t.Literal('list'),
    data: t.Array(item),
    first_id: orNull(t.String()),
    last_id: orNull(t.String()),
    has_more: t.Boolean(),
  })
}

/** The answer to a DELETE. */
export function deletedSchema<const T extends string>(object: T) {
  return t.Object({ id: t.String(), object: t.Literal(object), deleted: t.Literal(true) })
}

/** A list that is always complete. */
export function wholePage<T>(object: string, data: readonly T[]) {
  return { object, data, has_more: false, next_page: null }
}

/** Converts `YYYY-MM-DD HH:MM:SS.ffffff` (UTC) to seconds since 1970. */
export function secondsOf(timestamp: string): number {
  return Math.floor(millisOf(timestamp) / 1000)
}

/** Tells OpenAI's clients when to poll pending work again. */
export const POLL_AGAIN = { headers: { 'openai-poll-after-ms': '200' } }
