/** The job that moves a knowledge base to another storage. */
import { requireDataSource } from '../../core/domain/access/catalog-snapshot.ts'
import { isOver, type Job, NO_PROGRESS } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { JobDraft, JobWork } from '../../core/domain/ports/job-ports.ts'
import type { MoveTarget, StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { type Fields, INVALID_KNOWLEDGE_BASE } from '../definitions/fields.ts'
import { exportDefinition } from '../definitions/knowledge-base-fields.ts'
import { EMBEDDED, storageOf } from '../definitions/storage-fields.ts'
import type { QueryDeps } from '../select/query-deps.ts'

interface StoredMove {
  readonly knowledgeBaseId: number
  /** The knowledge base's name in the list of those that use the tables. */
  readonly attachment: string
  /** The connected database that the knowledge base moves to or from. */
  readonly database: string
  readonly table: string
  /** Null if it moves back to the embedded store. */
  readonly to: Pick<MoveTarget, 'isCopied'> | null
}

type Deps = Pick<QueryDeps, 'catalog' | 'author' | 'jobs' | 'moves'>

/** @param sent `storage` as in CREATE @returns null if already there @throws AppError */
export async function startMove(
  kb: KnowledgeBase,
  { storage, ...others }: Fields,
  deps: Deps,
): Promise<Job | null> {
  refuseOthers(Object.keys(others))
  if (storage === null) {
    const message = `Must provide "storage": '${EMBEDDED}', or a database and a table`
    throw new AppError('missing_parameter', message)
  }
  refuseSecond(kb, deps)
  const { place, isCopied, vectorDatabase } = storageOf(storage, kb.name, deps)
  if (place === null && vectorDatabase !== 'duckdb') throw notFound('database', vectorDatabase)
  if (kb.remote !== undefined && place !== null) {
    if (isAt(kb, place) && kb.remote.isCopied === isCopied) return null
    throw cannotMove(kb, `it is stored in ${kb.vectorDatabase}: set storage = '${EMBEDDED}' first`)
  }
  if (kb.remote !== undefined) return deps.jobs.start(leavingDraft(kb, kb.remote.attachment))
  if (place === null) return null
  if (kb.nextEmbeddingModel !== null) {
    throw cannotMove(kb, 'its new embedding model is not in use yet: try again when it is')
  }
  const target = { place, attachment: crypto.randomUUID(), isCopied }
  await deps.moves.check(kb, target, movedDefinition(kb))
  return deps.jobs.start(movingDraft(kb, target))
}

/** @throws AppError `invalid_knowledge_base` */
function refuseOthers([name]: readonly string[]): void {
  if (name === undefined) return
  const message = `"storage" moves a knowledge base: change "${name}" before or after that`
  throw new AppError(INVALID_KNOWLEDGE_BASE, message)
}

/** @throws AppError `job_state` */
function refuseSecond(kb: KnowledgeBase, { jobs }: Deps): void {
  const job = jobs.list().find((one) => {
    const isNamedSo = one.projectName === kb.projectName && one.knowledgeBase === kb.name
    return isNamedSo && one.kind === 'move' && !isOver(one)
  })
  if (job === undefined) return
  const message = `Job ${job.id} is already moving ${kb.name}: wait until it ends, or cancel it`
  throw new AppError('job_state', message)
}

function cannotMove({ name }: KnowledgeBase, why: string): AppError {
  return new AppError(INVALID_KNOWLEDGE_BASE, `${name} cannot be moved there: ${why}`)
}

function isAt(kb: KnowledgeBase, { source, table }: StoragePlace): boolean {
  return nameKey(kb.vectorDatabase) === nameKey(source.name) && kb.vectorDatabaseTable === table
}

/** The language is included: servers that share the rows must create the same terms. */
function movedDefinition(kb: KnowledgeBase): string {
  return exportDefinition({ ...kb, isLanguageKnown: true }, 0)
}

function movingDraft(kb: KnowledgeBase, { place, attachment, isCopied }: MoveTarget): JobDraft {
  const at = { database: place.source.name, table: place.table }
  const to = `${at.database}.${at.table}`
  return draftOf(kb, to, { knowledgeBaseId: kb.id, attachment, ...at, to: { isCopied } })
}

function leavingDraft(kb: KnowledgeBase, attachment: string): JobDraft {
  const { id: knowledgeBaseId, vectorDatabase: database, vectorDatabaseTable: table } = kb
  const request = { knowledgeBaseId, attachment, database, table, to: null }
  return draftOf(kb, 'the embedded store', request)
}

function draftOf({ name, projectName }: KnowledgeBase, to: string, request: StoredMove): JobDraft {
  return { kind: 'move', projectName, knowledgeBase: name, title: `Move ${name} to ${to}`, request }
}

/** @throws AppError like `KnowledgeBaseMoves`; the old storage then stays in use */
export async function runMoveJob(work: JobWork, deps: Deps, signal: AbortSignal): Promise<void> {
  // Only `startMove` stores such requests, and they are encrypted with authentication.
  const { attachment, database, table, to, knowledgeBaseId } = work.request as StoredMove
  const { catalog, moves } = deps
  const place = { source: requireDataSource(catalog.snapshot(), database), table }
  const at = { place, attachment }
  let done = 0
  const progress = {
    definitionOf: movedDefinition,
    report: ({ chunks, total }: { readonly chunks: number; readonly total: number }) => {
      // Further comparisons count from the start again, so do not let the progress go back.
      done = Math.min(total, Math.max(done, chunks))
      return work.mark({
        progress: { ...NO_PROGRESS, rows: done, chunks: done, total },
        checkpoint: null,
      })
    },
  }
  const kb = catalog.snapshot().knowledgeBases.find(({ id }) => id === knowledgeBaseId)
  try {
    if (kb === undefined) throw notFound('knowledge_base', work.job.knowledgeBase ?? '')
    if (kb.remote !== undefined && kb.remote.attachment !== attachment) {
      throw cannotMove(kb, 'it has been moved since')
    }
    if (to === null) {
      await moves.toEmbedded(
        kb,
        { vectorDatabase: 'duckdb', vectorDatabaseTable: kb.name },
        progress,
        signal,
      )
      await moves.leave(at, signal)
    } else {
      await moves.toConnected(kb, { ...at, ...to }, progress, signal)
    }
  } catch (error) {
    if (to !== null && !mayContinue(error, signal)) await moves.abandon(at).catch(() => {})
    throw error
  }
}

/** Whether to keep the new tables, because the next start or a resumed job can continue. */
function mayContinue(error: unknown, signal: AbortSignal): boolean {
  const cause: unknown = signal.aborted ? signal.reason : error
  if (!(cause instanceof AppError)) return false
  return ['shutting_down', 'source_failed', 'timeout'].includes(cause.code)
}
