import type { Elysia } from 'elysia'
import type { CatalogSnapshot } from '../domain/catalog-snapshot.ts'
import { ERRORS, toAppError } from '../errors.ts'
import type { Authentication } from './authentication.ts'
import { parseJson, readBytes, requireJsonType } from './body.ts'
import type { BodySchema } from './body-schema.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDeps } from './server-deps.ts'

/** What every route has at hand. */
export interface Edge {
  readonly deps: ServerDeps
  readonly authentication: Authentication
  readonly scopeOf: (request: Request) => RequestScope
  /** False as soon as the server is stopping. */
  readonly isReady: () => boolean
}

/** Adds the routes of one resource. */
export type AddRoutes = (app: Elysia, edge: Edge) => void

const LARGE_BODY_BYTES = 256 * 1024

export function snapshotOf(edge: Edge): CatalogSnapshot {
  return edge.deps.catalog.catalog.snapshot()
}

/**
 * @throws AppError `unsupported_media_type`, `body_too_large`, `invalid_json`, or what the schema
 * finds
 */
export async function readJson<T>(edge: Edge, request: Request, body: BodySchema<T>): Promise<T> {
  requireJsonType(request)
  const bytes = await readBody(edge, request, body.bytesMax)
  const value = parseJson(bytes)
  // Reading a large body held the loop already; whoever waits goes first.
  if (bytes.byteLength > LARGE_BODY_BYTES) await new Promise((resolve) => setImmediate(resolve))
  return body.check(value, request.method)
}

/** @throws AppError `body_too_large`, `cancelled` */
export async function readBody(
  edge: Edge,
  request: Request,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBytes(request, Math.min(bytesMax, edge.deps.settings.bodyBytesMax))
  edge.scopeOf(request).bodyArrived()
  return bytes
}

/**
 * For what fails after the answer has begun: the log has it, in the answer's own way the client
 * too.
 */
export function logStreamFailure(edge: Edge, scope: RequestScope): (error: unknown) => void {
  return (error) => {
    if (scope.signal.aborted) return
    const { code } = toAppError(error)
    if (ERRORS[code].status >= 500) edge.deps.logError({ requestId: scope.id, error })
  }
}
