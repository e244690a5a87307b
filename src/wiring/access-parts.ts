/** Access control and the audit log. */

import type { UseCases } from '../api/http/request/route-context.ts'
import { RequestScope } from '../api/http/request/running-requests.ts'
import {
  ANYONE,
  type Asker,
  askerOf,
  mayDo,
  NOBODY,
  type Principal,
} from '../core/domain/access/principal.ts'
import type { AuditLog } from '../core/domain/ports/access-ports.ts'
import type { QueryResult } from '../core/domain/query-result.ts'
import { AppError, toAppError } from '../core/errors.ts'
import { abortOrigin } from '../core/runtime/cancellation.ts'
import type { StatementAccess } from '../query/select/query-deps.ts'
import type { StatementChange } from '../query/select/statement-request.ts'
import type { Store } from '../store/store.ts'
import type { Settings } from './settings/settings.ts'

/** Statements of clients, with an entry of the audit log for each change, whichever door they came by. */
export function auditedQueries(query: UseCases['query'], audit: AuditLog): UseCases['query'] {
  return async (request, principal, signal) => {
    const seen: { change: StatementChange | null } = { change: null }
    const onChange = (change: StatementChange) => {
      seen.change = change
    }
    const work = () => query({ ...request, onChange }, principal, signal)
    const change = () => seen.change && { ...seen.change, principal }
    return audited(work, { change, skippedRowsOf }, audit, signal)
  }
}

async function audited<T>(
  work: () => Promise<T>,
  { change, skippedRowsOf }: AuditedWork<T>,
  audit: AuditLog,
  signal: AbortSignal,
): Promise<T> {
  const note = (outcome: string, skippedRows: number) => {
    const changed = change()
    if (changed === null) return
    const origin = requestOf(signal)
    const where = { address: origin?.address ?? 'unknown', requestId: origin?.id ?? '' }
    audit.note({ ...changed, ...where, outcome, skippedRows })
  }
  try {
    const result = await work()
    note('ok', skippedRowsOf(result))
    return result
  } catch (error) {
    note(toAppError(error).code, 0)
    throw error
  }
}

interface AuditedWork<T> {
  /** The change, known when the work is over; null: none. */
  readonly change: () => (StatementChange & { readonly principal: Principal }) | null
  readonly skippedRowsOf: (result: T) => number
}

function skippedRowsOf(result: QueryResult): number {
  return result.kind === 'ok' ? (result.skippedRows ?? 0) : 0
}

/** Inserts that no route notes: those of tools. */
export function auditedInserts(insert: UseCases['insert'], audit: AuditLog): UseCases['insert'] {
  return (request, signal) => {
    const { projectName, name } = request.kb
    const principal = requestOf(signal)?.principal ?? ANYONE
    const change = { action: 'INSERT', targets: [`${projectName}.${name}`], principal }
    return audited(
      () => insert(request, signal),
      { change: () => change, skippedRowsOf: ({ skippedRows }) => skippedRows ?? 0 },
      audit,
      signal,
    )
  }
}

/** The dependencies of statements about keys and users. */
export function statementAccess(
  { keys, users }: Pick<Store, 'keys' | 'users'>,
  { username, password }: Settings,
): StatementAccess {
  const firstAdmin = password === undefined ? undefined : username
  return { keys, users, firstAdmin, now: Date.now, dropSessions: () => {} }
}

/**
 * The audit log shows what everyone did: reading it takes an admin of everything, also through a view.
 * @throws AppError `forbidden`
 */
export function requireAuditReader(signal: AbortSignal): void {
  const reader = requestOf(signal)?.principal
  if (reader !== undefined && readsAudit(reader)) return
  throw new AppError('forbidden', 'The audit log is for admins who are not limited to projects')
}

/** Who asks agents, or reads earlier questions, in a statement. Jobs act on their own, without a user. */
export function askerOfSignal(signal: AbortSignal): Asker {
  const principal = requestOf(signal)?.principal
  return principal === undefined ? NOBODY : askerOf(principal)
}

function readsAudit(principal: Principal): boolean {
  return mayDo(principal, 'admin') && principal.namespaces === null
}

/** undefined: the server itself runs it. */
export function requestOf(signal: AbortSignal): RequestScope | undefined {
  const origin = abortOrigin(signal)
  return origin instanceof RequestScope ? origin : undefined
}
