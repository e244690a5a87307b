/** Keys, as REST bodies and SQL statements make them. Nobody gives away more than they have. */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import {
  mayDo,
  type Principal,
  requireNamespace,
  SCOPES,
  type Scope,
} from '../../core/domain/access/principal.ts'
import { checkedName, nameKey } from '../../core/domain/identifier.ts'
import type { AccessKey, AccessKeys } from '../../core/domain/ports/access-ports.ts'
import { FILES_DATABASE } from '../../core/domain/project.ts'
import { timestampOfMillis } from '../../core/domain/timestamp.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { Fields } from './fields.ts'

export interface AccessDeps {
  readonly keys: AccessKeys
  readonly snapshot: () => CatalogSnapshot
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const KEY_FIELDS = ['name', 'scopes', 'projects', 'expires_at', 'requests_per_minute']
const REQUESTS_PER_MINUTE_MAX = 1_000_000

/**
 * @param fields of the contract: `name`, `scopes`, `projects`, `expires_at`, `requests_per_minute`
 * @throws AppError `forbidden` for more than the principal itself may do, `key_exists`, `invalid_request`, …
 */
export async function createKey(
  fields: Fields,
  principal: Principal,
  deps: AccessDeps,
): Promise<{ readonly key: AccessKey; readonly text: string }> {
  const unknown = Object.keys(fields).find((name) => !KEY_FIELDS.includes(name))
  if (unknown !== undefined) {
    const message = `Unknown field "${unknown.slice(0, 100)}"; expected ${KEY_FIELDS.join(', ')}`
    throw new AppError('unknown_field', message)
  }
  const scopes = scopesOf(fields.scopes)
  const above = scopes.find((scope) => !mayDo(principal, scope))
  if (above !== undefined) {
    const message = `A key has at most the scopes of whoever makes it; "${above}" is not among them`
    throw new AppError('forbidden', message)
  }
  return deps.keys.create({
    name: keyName(fields.name),
    scopes,
    namespaces: namespacesOf(fields.projects, principal, deps.snapshot()),
    expiresAt: expiryOf(fields.expires_at, deps.now()),
    requestsPerMinute: requestsOf(fields.requests_per_minute),
    createdBy: shownPrincipal(principal),
  })
}

/** Those that the principal could have made: whoever is limited to some projects sees no others. */
export function visibleKeys(principal: Principal, keys: AccessKeys): readonly AccessKey[] {
  return keys.list().filter(({ namespaces }) => isWithinPrincipal(namespaces, principal))
}

/** Whether a principal may decide about somebody who may name these. */
export function isWithinPrincipal(
  namespaces: readonly string[] | null,
  principal: Principal,
): boolean {
  if (principal.namespaces === null) return true
  return namespaces?.every((one) => principal.namespaces?.has(nameKey(one))) ?? false
}

/** As lists of keys and the audit log name them. */
export function shownPrincipal({ kind, name }: Principal): string {
  return kind === 'key' ? `key ${name}` : name
}

function keyName(name: unknown): string {
  if (typeof name === 'string') return checkedName('key', name)
  throw invalid('Field "name" must be a string that says what the key is for')
}

function scopesOf(sent: unknown): readonly Scope[] {
  const expected = `a list of ${SCOPES.map((scope) => `"${scope}"`).join(', ')}, at least one`
  const wrong = () => invalid(`Field "scopes" must be ${expected}`)
  if (!Array.isArray(sent) || sent.length === 0) throw wrong()
  const named = sent.map((one) => SCOPES.find((scope) => scope === one))
  if (named.includes(undefined)) throw wrong()
  return SCOPES.filter((scope) => named.includes(scope))
}

/**
 * What a key or user may name, as the fields of both say it.
 * @throws AppError `project_not_found`, `forbidden`, `invalid_request`
 */
export function namespacesOf(
  sent: unknown,
  principal: Principal,
  snapshot: CatalogSnapshot,
): readonly string[] | null {
  if (sent === undefined || sent === null) {
    if (principal.namespaces === null) return null
    const message = 'Name the projects: you may use some of them only, so "projects" cannot be all'
    throw new AppError('forbidden', message)
  }
  const isList = Array.isArray(sent) && sent.length > 0 && sent.length <= NAMESPACES_MAX
  if (!isList || !sent.every((one) => typeof one === 'string')) {
    const expected = 'a list of projects, data sources or "files", at least one, or null for all'
    throw invalid(`Field "projects" must be ${expected}`)
  }
  const known = new Map([
    [FILES_DATABASE, FILES_DATABASE],
    ...[...snapshot.projects, ...snapshot.dataSources].map(({ name }) => {
      return [nameKey(name), name] as const
    }),
  ])
  const names = sent.map((name: string) => {
    requireNamespace(principal, name)
    const found = known.get(nameKey(name))
    if (found === undefined) throw notFound('project', name.slice(0, 200))
    return found
  })
  return [...new Set(names)]
}

const NAMESPACES_MAX = 1_000

function expiryOf(sent: unknown, nowMs: number): string | null {
  if (sent === undefined || sent === null) return null
  const millis = typeof sent === 'string' ? momentMillis(sent) : Number.NaN
  if (Number.isNaN(millis)) {
    const expected =
      'a moment as "2030-01-31", "2030-01-31 12:00:00" (UTC) or "2030-01-31T12:00:00+01:00"'
    throw invalid(`Field "expires_at" must be ${expected}, or null for never`)
  }
  if (millis <= nowMs) throw invalid('Field "expires_at" lies in the past')
  return timestampOfMillis(millis)
}

const EXPIRY =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)?$/i

/** Milliseconds since 1970 of a day or a time as people write it, UTC unless it says otherwise; NaN for what is none. */
export function momentMillis(text: string): number {
  const [, day, time = '00:00:00', zone = 'Z'] = EXPIRY.exec(text.trim()) ?? []
  return day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone.toUpperCase()}`)
}

function requestsOf(sent: unknown): number | null {
  if (sent === undefined || sent === null) return null
  const isCount = typeof sent === 'number' && Number.isInteger(sent) && sent >= 0
  if (isCount && sent <= REQUESTS_PER_MINUTE_MAX) return sent
  const expected = `a whole number from 0 (no limit) to ${REQUESTS_PER_MINUTE_MAX}`
  throw invalid(`Field "requests_per_minute" must be ${expected}`)
}

function invalid(message: string): AppError {
  return new AppError('invalid_request', message)
}
