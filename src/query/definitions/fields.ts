/**
 * Reads the API's fields (docs/contract.md) from a REST body or from the options of a SQL
 * statement. Both use the same names.
 */
import { MASK } from '../../core/domain/flow/source-parameters.ts'
import type { ModelRef } from '../../core/domain/model-ref.ts'
import { AppError, ERRORS, type ErrorCode } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'

export const INVALID_KNOWLEDGE_BASE = 'invalid_knowledge_base'

export function invalidKnowledgeBase(message: string): AppError {
  return new AppError(INVALID_KNOWLEDGE_BASE, message)
}

export const INVALID_AGENT = 'invalid_agent'

export function invalidAgent(message: string): AppError {
  return new AppError(INVALID_AGENT, message)
}

/** The API's field names with values as they were sent. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * Merges the fields nested under `params`, as MindsDB clients send them, with the outer ones, which
 * win.
 * @param ignored response-only fields of `params`, which clients may send back
 * @throws AppError with the given code if `params` is not an object
 */
export function withNestedParams(
  { params, ...outer }: Fields,
  code: ErrorCode,
  ignored: ReadonlySet<string> = new Set(),
): Fields {
  if (params !== undefined && params !== null && !isObject(params)) {
    throw new AppError(code, 'Field "params" must be an object')
  }
  const nested = Object.entries(params ?? {}).filter(([name]) => !ignored.has(name))
  const given = Object.entries(outer).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries([...nested, ...given])
}

function kindOfValue(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Every list of definitions shows them. */
const ITEMS_MAX = 1_000

/** Reads fields one by one and checks their types. A missing or null field is `undefined`. */
export class FieldReader {
  readonly #fields: Fields
  readonly #code: ErrorCode

  constructor(fields: Fields, code: ErrorCode) {
    this.#fields = fields
    this.#code = code
  }

  isNull(name: string): boolean {
    return this.#fields[name] === null
  }

  isSet(name: string): boolean {
    return this.#fields[name] !== undefined && this.#fields[name] !== null
  }

  text(name: string): string | undefined {
    return this.#read(name, 'a string', (value) => typeof value === 'string')
  }

  textList(name: string): readonly string[] | undefined {
    return this.#read(name, 'a list of strings', (value): value is readonly string[] => {
      return Array.isArray(value) && value.every((item) => typeof item === 'string')
    })
  }

  list(name: string): readonly unknown[] | undefined {
    return this.#read(name, 'a list', (value): value is readonly unknown[] => Array.isArray(value))
  }

  object(name: string): Readonly<Record<string, unknown>> | undefined {
    return this.#read(name, 'an object', isObject)
  }

  truth(name: string): boolean | undefined {
    return this.#read(name, 'true or false', (value) => typeof value === 'boolean')
  }

  /** An integer within the bounds, inclusive. */
  integer(name: string, bounds: Bounds): number | undefined {
    const value = this.#read(name, 'an integer', (one) => typeof one === 'number')
    if (value !== undefined && !Number.isInteger(value)) {
      throw new AppError(this.#code, `Field "${name}" must be an integer; it is ${value}`)
    }
    return this.#within(name, value, bounds)
  }

  /** A finite number within the bounds, inclusive. */
  number(name: string, bounds: Bounds): number | undefined {
    const value = this.#read(name, 'a number', (one) => typeof one === 'number')
    return this.#within(name, value, bounds)
  }

  #within(name: string, value: number | undefined, { min, max }: Bounds): number | undefined {
    if (value === undefined || (value >= min && value <= max)) return value
    throw new AppError(this.#code, `Field "${name}" must be from ${min} to ${max}; it is ${value}`)
  }

  /** @throws AppError if there is a field that is not known */
  allowOnly(known: ReadonlySet<string>, message: (name: string) => string): void {
    for (const [name, value] of Object.entries(this.#fields)) {
      if (value !== null && value !== undefined && !known.has(name)) {
        // Use the title of this resource's other errors, which clients match on.
        const { title } = ERRORS[this.#code]
        const hint = didYouMean(nearestName(name, known))
        throw new AppError('unknown_field', `${message(name)}${hint}`, { title })
      }
    }
  }

  #read<T>(name: string, expected: string, fits: (value: unknown) => value is T): T | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (Array.isArray(value) && value.length > ITEMS_MAX)
      throw new AppError(this.#code, `Field "${name}" has at most ${ITEMS_MAX} items`)
    if (fits(value)) return value
    throw new AppError(this.#code, `Field "${name}" must be ${expected}, not ${kindOfValue(value)}`)
  }
}

export interface Bounds {
  readonly min: number
  readonly max: number
}

const OWN_FIELDS = new Set(['provider', 'model_name', 'api_key', 'base_url'])

/**
 * Reads `{provider, model_name, api_key, base_url, …}` as a model reference.
 * @param stored the reference to replace. Masked secrets are taken from it only if the address is
 * the same: a client that names another address must send the secrets again
 */
export function modelRefOf(
  fields: Fields,
  defaults: { readonly provider: string; readonly code: ErrorCode },
  stored: ModelRef | null = null,
): ModelRef {
  const read = new FieldReader(fields, defaults.code)
  // Some clients send an empty text for "not set".
  const provider = (read.text('provider')?.trim() || defaults.provider).toLowerCase()
  const { baseUrl, version } = withoutVersion(read.text('base_url'))
  const unmasked = (name: string, value: unknown, secret: unknown): unknown => {
    if (isObject(value) && isObject(secret)) {
      const entries = Object.entries(value)
      return Object.fromEntries(
        entries.map(([inner, one]) => [inner, unmasked(`${name}.${inner}`, one, secret[inner])]),
      )
    }
    if (Array.isArray(value) && Array.isArray(secret)) {
      return value.map((one, index) => unmasked(`${name}[${index}]`, one, secret[index]))
    }
    if (value !== MASK || secret === undefined) return value
    if (stored !== null && isSameAddress(stored, { provider, baseUrl })) return secret
    const why = 'provider or base_url differs from the one it was given for'
    throw new AppError(defaults.code, `Field "${name}" must be sent again: ${why}`)
  }
  const apiKey = unmasked('api_key', read.text('api_key'), stored?.apiKey)
  const options: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (OWN_FIELDS.has(name) || value === null || value === undefined) continue
    options[name] = unmasked(name, value, stored?.options[name])
  }
  if (version !== null) options.api_version ??= version
  return {
    provider,
    modelName: read.text('model_name') ?? '',
    ...(typeof apiKey === 'string' && apiKey !== '' && apiKey !== MASK ? { apiKey } : {}),
    ...(baseUrl !== undefined && baseUrl !== ''
      ? { baseUrl: checkedUrl(baseUrl, defaults.code) }
      : {}),
    options,
  }
}

/** @param sent from the client; stored ones are not checked @throws AppError `unknown_field` */
export function refuseOptions(sent: Fields, known: readonly string[], code: ErrorCode): void {
  const fields = [...OWN_FIELDS, ...known]
  new FieldReader(sent, code).allowOnly(new Set(fields), (name) => {
    return `A model here has no option "${name.slice(0, 60)}"; there are ${fields.join(', ')}`
  })
}

/** Splits the API version off an Azure address, because it is a separate option. */
function withoutVersion(sent: string | undefined): {
  readonly baseUrl: string | undefined
  readonly version: string | null
} {
  const url = URL.parse(sent ?? '')
  const version = url?.searchParams.get('api-version') ?? null
  if (url === null || version === null) return { baseUrl: sent, version: null }
  url.searchParams.delete('api-version')
  return { baseUrl: url.href, version }
}

/** Whether both have the same provider and origin, so the stored secret may be sent there. */
function isSameAddress(
  stored: ModelRef,
  sent: { readonly provider: string; readonly baseUrl: string | undefined },
): boolean {
  return stored.provider === sent.provider && originOf(stored.baseUrl) === originOf(sent.baseUrl)
}

function originOf(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : ''
}

function checkedUrl(text: string, code: ErrorCode): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new AppError(code, 'Field "base_url" must be an http or https address')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    const parts = 'a user name, a password or a query'
    throw new AppError(code, `Field "base_url" must not hold ${parts}; a key belongs in "api_key"`)
  }
  return text
}

const SECRET_NAME = /key|secret|token|password|credential|authorization|connection|dsn/i

/** Returns a model reference as the API shows it, with all secrets masked, nested ones too. */
export function maskedModelFields(ref: ModelRef) {
  return {
    provider: ref.provider,
    model_name: ref.modelName,
    // Clients expect the field. An empty text means that no key is stored.
    api_key: ref.apiKey === undefined ? '' : MASK,
    ...(ref.baseUrl === undefined ? {} : { base_url: ref.baseUrl }),
    ...maskedFields(ref.options),
  }
}

/** Returns the fields of a stored model with masked secrets, overridden by those sent. */
export function mergedFields(stored: ModelRef, sent: Fields): Fields {
  const { api_key, ...known } = maskedModelFields(stored)
  return { ...known, ...(api_key === '' ? {} : { api_key }), ...sent }
}

/** A number is a limit such as `max_tokens`, not a secret. */
function maskedFields(fields: Fields): Fields {
  const entries = Object.entries(fields).map(([name, value]) => {
    const isSecret = SECRET_NAME.test(name) && typeof value === 'string'
    return [name, isSecret ? MASK : masked(value)]
  })
  return Object.fromEntries(entries)
}

export function withoutMasked(fields: Fields): Fields {
  const kept = Object.entries(maskedFields(fields)).flatMap(([name, value]) => {
    return value === MASK ? [] : [[name, withoutMaskedValue(value)] as const]
  })
  return Object.fromEntries(kept)
}

function withoutMaskedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMaskedValue)
  return isObject(value) ? withoutMasked(value) : value
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked)
  return isObject(value) ? maskedFields(value) : value
}
