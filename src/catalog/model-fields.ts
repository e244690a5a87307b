import type { ModelRef } from '../domain/model-ref.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { FieldReader, type Fields, isObject } from './fields.ts'

/** How a stored secret is shown. Sent back by a client that saves what it read, it means "leave as it is". */
export const MASK = '******'

const OWN_FIELDS = new Set(['provider', 'model_name', 'api_key', 'base_url'])

function keptSecret(sent: string | undefined, stored: string | undefined): string | undefined {
  return sent === MASK ? stored : sent
}

/**
 * `{provider, model_name, api_key, base_url, …}` as a model reference.
 * @param stored the reference that this one replaces: its secrets stand in for masked ones
 */
export function modelRefOf(
  fields: Fields,
  defaults: { readonly provider: string; readonly code: ErrorCode },
  stored: ModelRef | null = null,
): ModelRef {
  const read = new FieldReader(fields, defaults.code)
  const apiKey = keptSecret(read.text('api_key'), stored?.apiKey)
  const baseUrl = read.text('base_url')
  const options: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (OWN_FIELDS.has(name) || value === null || value === undefined) continue
    options[name] = value === MASK ? stored?.options[name] : value
  }
  return {
    provider: (read.text('provider') ?? defaults.provider).trim().toLowerCase(),
    modelName: read.text('model_name') ?? '',
    ...(apiKey !== undefined && apiKey !== '' ? { apiKey } : {}),
    ...(baseUrl !== undefined && baseUrl !== ''
      ? { baseUrl: checkedUrl(baseUrl, defaults.code) }
      : {}),
    options,
  }
}

function checkedUrl(text: string, code: ErrorCode): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new AppError(code, 'Field "base_url" must be an http or https address')
  }
  if (url.username !== '' || url.password !== '') {
    throw new AppError(
      code,
      'Field "base_url" must not hold a user name or password; use "api_key"',
    )
  }
  return text
}

const SECRET_NAME = /key|secret|token|password|credential|authorization/i

/** A model reference as the contract shows it: the way back, with every secret masked, nested ones too. */
export function maskedModelFields(ref: ModelRef): Fields {
  return {
    provider: ref.provider,
    model_name: ref.modelName,
    ...(ref.apiKey === undefined ? {} : { api_key: MASK }),
    ...(ref.baseUrl === undefined ? {} : { base_url: ref.baseUrl }),
    ...maskedFields(ref.options),
  }
}

/** A number under such a name is a limit (`max_tokens`), not a secret. */
function maskedFields(fields: Fields): Fields {
  const entries = Object.entries(fields).map(([name, value]) => {
    const isSecret = SECRET_NAME.test(name) && typeof value === 'string'
    return [name, isSecret ? MASK : masked(value)]
  })
  return Object.fromEntries(entries)
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked)
  return isObject(value) ? maskedFields(value) : value
}
