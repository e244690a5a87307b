import { t } from 'elysia'
import type { AuditRecord } from '../../../../core/domain/ports/access-ports.ts'
import { AppError } from '../../../../core/errors.ts'
import {
  cursor,
  moment,
  queryParameters,
  text,
  wholeNumber,
} from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const charsMax = 1_000

const QUERY = queryParameters({
  limit: wholeNumber({ min: 1, max: 1000, unset: 50, description: 'Entries of a page' }),
  cursor: cursor(),
  principal: text({ description: 'The name of the user or key that did it', charsMax }),
  action: text({ description: '`createKey`, `DROP KNOWLEDGE_BASE`, `login`', charsMax }),
  outcome: text({ description: '`ok`, or the code of an error', charsMax }),
  from: moment({ description: 'Not before this' }),
  to: moment({ description: 'Before this' }),
})

export const AUDIT_LIST = t.Object({
  items: t.Array(
    t.Object({
      number: t.Integer(),
      happened_at: t.String(),
      principal: t.Object({ kind: t.String(), id: t.String(), name: t.String() }),
      action: t.String(),
      targets: t.Array(t.String()),
      outcome: t.String(),
      address: t.String(),
      request_id: t.String(),
      occurrences: t.Integer(),
      skipped_rows: t.Integer({ description: 'Rows of an insert without content' }),
    }),
  ),
  next: t.Union([t.String(), t.Null()]),
})

export const addAuditRoutes: AddRoutes = (app, context) => {
  app.get(
    '/api/audit',
    async ({ request }) => {
      if (context.scopeOf(request).principal.namespaces !== null) {
        const message = 'The audit log is for admins who are not limited to projects'
        throw new AppError('forbidden', message)
      }
      const { limit, cursor: sent, ...filter } = QUERY.read(request)
      const page = { limit, before: sent === undefined ? null : Number(sent) }
      const { items, next } = await context.deps.audit.list(withoutUnset(filter), page)
      return Response.json({
        items: items.map(auditRecord),
        next: next === null ? null : String(next),
      })
    },
    route({
      needs: 'admin',
      id: 'listAuditLog',
      summary: 'List what was changed by whom, the newest first',
      description: 'Names only, never what a statement or a body said.',
      tag: 'Access',
      query: QUERY,
      answers: {
        200: { description: 'items, next (the cursor of the rest, or null)', schema: AUDIT_LIST },
      },
    }),
  )
}

function withoutUnset<T extends Readonly<Record<string, string | undefined>>>(filter: T) {
  const set = Object.entries(filter).filter(([, value]) => value !== undefined)
  // The entries that stay have values.
  return Object.fromEntries(set) as { readonly [K in keyof T]?: string }
}

function auditRecord(record: AuditRecord) {
  const { principalKind: kind, principalId: id, principalName: name } = record
  return {
    number: record.number,
    happened_at: record.happenedAt,
    principal: { kind, id, name },
    action: record.action,
    targets: record.targets,
    outcome: record.outcome,
    address: record.address,
    request_id: record.requestId,
    occurrences: record.occurrences,
    skipped_rows: record.skippedRows,
  }
}
