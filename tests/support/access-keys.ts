import type { Scope } from '../../src/core/domain/access/principal.ts'
import type { AccessKeys, AuditLog, Users } from '../../src/core/domain/ports/access-ports.ts'
import type { TestApp } from './test-app.ts'

export interface MadeKey {
  readonly id: number
  /** The text of the key. */
  readonly key: string
  /** The headers of a request with this key. */
  readonly headers: { readonly authorization: string }
}

let made = 0

/**
 * Creates a key over HTTP, for requests that use it.
 * @param fields the fields of POST /api/keys; the name is generated
 * @param headers those of its creator, who must be an admin on a server with a login
 */
export async function makeKey(
  { send }: Pick<TestApp, 'send'>,
  scopes: readonly Scope[],
  fields: Readonly<Record<string, unknown>> = {},
  headers: HeadersInit = {},
): Promise<MadeKey> {
  made += 1
  const body = { name: `key ${made}`, scopes, ...fields }
  const answer = await send('POST', '/api/keys', body, headers)
  if (answer.status !== 201) throw new Error(`no key: ${answer.text}`)
  const { id, key } = answer.body as { readonly id: number; readonly key: string }
  return { id, key, headers: { authorization: `Bearer ${key}` } }
}

export const NO_KEYS: AccessKeys = {
  list: () => [],
  create: () => Promise.reject(new Error('no keys')),
  remove: () => Promise.reject(new Error('no keys')),
  find: () => undefined,
  noteUse: () => {},
}

export const NO_USERS: Users = {
  list: () => [],
  create: () => Promise.reject(new Error('no users')),
  change: () => Promise.reject(new Error('no users')),
  remove: () => Promise.reject(new Error('no users')),
  known: () => undefined,
  named: () => undefined,
  isPassword: async () => false,
}

export const NO_AUDIT: AuditLog = {
  note: () => {},
  settled: async () => {},
  list: async () => ({ items: [], next: null }),
}
