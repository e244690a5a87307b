import { HIDDEN, type ModelRef, withoutMarkedCredentials } from '../../core/domain/model-ref.ts'

export type HideSecrets = (text: string) => string

/** A shorter secret looks like ordinary words. */
const HIDDEN_CHARS_MIN = 6

/**
 * Removes these secrets from texts, in any case and also as escaped in an address, and everything marked as a
 * secret.
 */
export function hideSecrets(secrets: readonly string[]): HideSecrets {
  const known = knownPattern(secrets)
  return (text) => withoutMarkedCredentials(known === null ? text : text.replace(known, HIDDEN))
}

function knownPattern(secrets: readonly string[]): RegExp | null {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < HIDDEN_CHARS_MIN) continue
    // As it is, within JSON, and within an address.
    forms
      .add(secret)
      .add(JSON.stringify(secret).slice(1, -1))
      .add(encodeURIComponent(secret.toWellFormed()))
  }
  if (forms.size === 0) return null
  // The longest first: one secret may be a prefix of another.
  const patterns = [...forms].sort((one, other) => other.length - one.length).map(escapedPattern)
  return new RegExp(patterns.join('|'), 'gi')
}

function escapedPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** The key of a model, and the login in its address. */
export function secretsOfModel({ apiKey, baseUrl, options }: ModelRef): readonly string[] {
  const secrets = Object.entries(options).flatMap(secretOption)
  return [apiKey ?? '', ...secrets, ...secretsOfAddress(baseUrl ?? '')]
}

export function secretsOfAddress(address: string): readonly string[] {
  if (!URL.canParse(address)) return []
  const { username, password, searchParams } = new URL(address)
  const sent = [...searchParams.values()]
  return [username, password, uriDecoded(password), ...sent.filter(isLongSecret)]
}

/** A shorter parameter of an address is a version or the like. */
const LONG_CHARS = 16

function isLongSecret(text: string): boolean {
  return text.length >= LONG_CHARS
}

function secretOption([name, value]: [string, unknown]): readonly string[] {
  return typeof value === 'string' && /key|token|secret|password|auth/i.test(name) ? [value] : []
}

function uriDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
