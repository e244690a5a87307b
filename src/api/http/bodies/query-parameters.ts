/** Declares a route's query parameters, for reading and for the OpenAPI document. */

import { type TSchema, t } from 'elysia'
import { AppError } from '../../../core/errors.ts'
import { isObject, parsedJson } from '../../../core/json.ts'
import { timestampOfMillis } from '../../../core/time.ts'
import { momentMillis } from '../../../query/definitions/define-user.ts'
import { integer } from '../request/schema-words.ts'

interface QueryParameter<T> {
  readonly schema: TSchema
  /** @throws AppError `invalid_request` naming the parameter */
  read(text: string | undefined, name: string): T
}

type Declared = Readonly<Record<string, QueryParameter<unknown>>>

type Values<P extends Declared> = {
  readonly [K in keyof P]: P[K] extends QueryParameter<infer T> ? T : never
}

interface Reading {
  /** Whether unknown parameters are ignored, because existing clients send some. */
  readonly ignoresOthers?: boolean
  /** Whether an empty value is kept as an empty string, instead of counting as not sent. */
  readonly keepsEmpty?: boolean
}

export function queryParameters<const P extends Declared>(
  parameters: P,
  { ignoresOthers = false, keepsEmpty = false }: Reading = {},
) {
  return {
    parameters,
    /** @throws AppError `unknown_field`, `invalid_request`, `invalid_json` naming the parameter */
    read(request: Request): Values<P> {
      const sent = new Map<string, string>()
      for (const [name, value] of new URL(request.url).searchParams) {
        if (!Object.hasOwn(parameters, name)) {
          if (ignoresOthers) continue
          const known = Object.keys(parameters).join(', ')
          const message = `Unknown parameter "${name.slice(0, 100)}"; there are: ${known}`
          throw new AppError('unknown_field', message)
        }
        if (sent.has(name)) throw wrongParameter(name, 'is sent twice')
        if (value !== '' || keepsEmpty) sent.set(name, value)
      }
      const values = Object.entries(parameters).map(([name, parameter]) => {
        return [name, parameter.read(sent.get(name), name)] as const
      })
      // Each entry is a parameter's name with a value of its type.
      return Object.fromEntries(values) as Values<P>
    },
  }
}

export function wrongParameter(name: string, what: string): AppError {
  return new AppError('invalid_request', `Parameter "${name}" ${what}`, { param: name })
}

interface About {
  readonly description: string
}

interface Bounds extends About {
  readonly min: number
  readonly max: number
  /** Whether larger values are reduced to `max` instead of refused. */
  readonly isCut?: boolean
}

export function wholeNumber<const U extends number | undefined>(
  init: Bounds & { readonly unset: U },
): QueryParameter<number | U> {
  const { min, max, isCut = false, unset, description } = init
  const limit = isCut ? {} : { maximum: max }
  return {
    schema: integer({
      description,
      minimum: min,
      ...limit,
      ...(unset === undefined ? {} : { default: unset }),
    }),
    read(text, name) {
      if (text === undefined) return unset
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      if (value >= min && (isCut || value <= max)) return Math.min(value, max)
      const upTo = isCut ? 'on' : `to ${max}`
      throw wrongParameter(name, `must be a whole number from ${min} ${upTo}`)
    },
  }
}

interface TextRules extends About {
  readonly charsMax?: number
  readonly examples?: readonly string[]
}

export function text(init: TextRules): QueryParameter<string | undefined> {
  const { description, examples, charsMax = Number.POSITIVE_INFINITY } = init
  const limit = Number.isFinite(charsMax) ? { maxLength: charsMax } : {}
  return {
    schema: t.String({ description, ...limit, ...(examples === undefined ? {} : { examples }) }),
    read(sent, name) {
      if ((sent?.length ?? 0) <= charsMax) return sent
      throw wrongParameter(name, `has at most ${charsMax} characters`)
    },
  }
}

/** @param parse called only with non-empty text */
export function parsedText<T>(
  init: TextRules,
  parse: (text: string, name: string) => T,
): QueryParameter<T | undefined> {
  const plain = text(init)
  return {
    schema: plain.schema,
    read(sent, name) {
      const known = plain.read(sent, name)
      return known === undefined || known === '' ? undefined : parse(known, name)
    },
  }
}

export function choice<const T extends string>(
  values: readonly T[],
  { description }: About,
): QueryParameter<T | undefined> {
  return {
    schema: t.Unsafe({ type: 'string', enum: [...values], description }),
    read(sent, name) {
      const found = values.find((value) => value === sent)
      if (sent === undefined || found !== undefined) return found
      throw wrongParameter(name, `must be one of ${values.join(', ')}`)
    },
  }
}

/** @param init.isLenient existing clients send other words than yes for no */
export function truth(init: About & { readonly isLenient?: boolean }): QueryParameter<boolean> {
  const { description, isLenient = false } = init
  return {
    schema: t.Boolean({ description, default: false }),
    read(sent, name) {
      if (sent === 'true' || sent === '1') return true
      if (isLenient || sent === undefined || sent === 'false' || sent === '0') return false
      throw wrongParameter(name, 'must be true or false')
    },
  }
}

export function cursor(): QueryParameter<string | undefined> {
  return {
    schema: t.String({ description: '`next` of the previous page' }),
    read(sent, name) {
      if (sent === undefined || /^\d{1,18}$/.test(sent)) return sent
      throw wrongParameter(name, 'must be a previous page’s "next"')
    },
  }
}

export function paging(description: string) {
  return { limit: wholeNumber({ min: 1, max: 1000, unset: 50, description }), cursor: cursor() }
}

/** The page that ends before the cursor. */
export function pageBefore(given: { readonly limit: number; readonly cursor: string | undefined }) {
  const { limit, cursor: before } = given
  return { limit, before: before === undefined ? null : Number(before) }
}

export function offsetPaging(limit: { min: 0 | 1; description: string; isCut?: boolean }) {
  return {
    limit: wholeNumber({ max: 1000, unset: 100, ...limit }),
    offset: wholeNumber({
      ...{ min: 0, max: Number.MAX_SAFE_INTEGER, isCut: true, unset: 0 },
      description: 'Skips this many items; pass `next` from the previous page',
    }),
  }
}

export function pageFrom<T>(
  found: readonly T[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
) {
  const end = offset + limit
  const next = end < found.length ? end : null
  return { items: found.slice(offset, end), total: found.length, next }
}

export function nextCursor(next: number | bigint | null): string | null {
  return next === null ? null : String(next)
}

/** A date or time, in UTC unless it says otherwise. */
export function moment({ description }: About): QueryParameter<string | undefined> {
  const shape = { description: `${description}; a date or time, UTC`, examples: ['2026-05-01'] }
  return parsedText(shape, (sent, name) => {
    // In a URL, `+` is decoded as a space.
    const millis = momentMillis(
      sent.replace(/ (?=\d\d:\d\d$)/, (space) => {
        return sent.length > DAY_AND_TIME_CHARS ? '+' : space
      }),
    )
    if (!Number.isNaN(millis)) return timestampOfMillis(millis)
    throw wrongParameter(name, 'must be a date or time, such as 2026-05-01 or 2026-05-01T12:00:00Z')
  })
}

const DAY_AND_TIME_CHARS = '2026-05-01T12:00'.length

export function filters(init: TextRules): QueryParameter<object | undefined> {
  return parsedText(init, (sent, name) => {
    const value = parsedJson(sent)
    if (value === undefined) {
      throw new AppError('invalid_json', `The parameter "${name}" is not JSON`)
    }
    if (isObject(value)) return value
    throw wrongParameter(name, 'must be an object of conditions')
  })
}
