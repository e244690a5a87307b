/** What somebody may read, as it is kept beside work that goes on without them. JSON. */

import { AppError } from '../../errors.ts'
import { nameKey } from '../identifier.ts'
import { mayDo, type Principal } from './principal.ts'

export interface Rights {
  /** Of knowledge bases, tables, views, definitions. */
  readonly read: boolean
  /** Of agents' answers. */
  readonly ask: boolean
  /** In lower case, in their order; null: all. */
  readonly namespaces: readonly string[] | null
}

/** null: whatever there is. */
export function rightsOf(principal: Principal): Rights | null {
  const { namespaces } = principal
  const [read, ask] = [mayDo(principal, 'read'), mayDo(principal, 'ask')]
  const named = namespaces === null ? null : [...namespaces].map(nameKey).toSorted()
  return read && ask && named === null ? null : { read, ask, namespaces: named }
}

/** Whether whoever has the first may have done what the second was needed for. */
export function covers(own: Rights | null, needed: Rights | null): boolean {
  if (own === null) return true
  if (needed === null) return false
  const { namespaces } = own
  const isNamed =
    namespaces === null || needed.namespaces?.every((name) => namespaces.includes(name))
  return isNamed === true && (own.read || !needed.read) && (own.ask || !needed.ask)
}

/** What every database of MySQL's kind has beside projects. Each sees there what it may see. */
const EVERYBODYS: ReadonlySet<string> = new Set(['information_schema', 'log'])

export function sees(rights: Rights | null | undefined, namespace: string): boolean {
  const namespaces = rights?.namespaces ?? null
  if (namespaces === null) return true
  const key = nameKey(namespace)
  return EVERYBODYS.has(key) || namespaces.includes(key)
}

/** The same answer whether the namespace exists or not. @throws AppError `forbidden` */
export function requireSeen(rights: Rights | null | undefined, namespace: string): void {
  if (sees(rights, namespace)) return
  throw new AppError('forbidden', `This key or user may not use "${namespace.slice(0, 100)}"`)
}

/** @throws AppError `forbidden` */
export function requireRight(rights: Rights | null | undefined, right: 'read' | 'ask'): void {
  if (rights?.[right] !== false) return
  const missing = `This key or user lacks the scope "${right}" that this needs`
  throw new AppError(
    'forbidden',
    `${missing}; an admin can make a key that has it (POST /api/keys)`,
  )
}
