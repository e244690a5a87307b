/** Creates access control and the audit log. */

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
import type { StatementChange } from '../query/select/statement-request.ts'

/** Wraps the statements of clients: each change on any protocol gets an entry in the audit log. */
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
  readonly change: () => (StatementChange & { readonly principal: Principal }) | null
  readonly skippedRowsOf: (result: T) => number
}

function skippedRowsOf(result: QueryResult): number {
  return result.kind === 'ok' ? (result.skippedRows ?? 0) : 0
}

/** Adds audit entries for inserts by MCP tools, which no route records. */
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

/** Only an admin of the whole server may read the audit log, which shows what all users did. */
export function requireAuditReader(signal: AbortSignal): void {
  const reader = requestOf(signal)?.principal
  if (reader !== undefined && mayDo(reader, 'admin') && reader.namespaces === null) return
  throw new AppError('forbidden', 'The audit log is for admins who are not limited to projects')
}

export function askerOfSignal(signal: AbortSignal): Asker {
  const principal = requestOf(signal)?.principal
  return principal === undefined ? NOBODY : askerOf(principal)
}

/** Returns undefined if the server itself runs the statement. */
export function requestOf(signal: AbortSignal): RequestScope | undefined {
  const origin = abortOrigin(signal)
  return origin instanceof RequestScope ? origin : undefined
}
