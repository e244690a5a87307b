/** The job that re-chunks all documents of a knowledge base with its current settings. */
import { createHash } from 'node:crypto'
import { requireJobTarget } from '../../core/domain/access/catalog-snapshot.ts'
import {
  type Job,
  type JobProgress,
  type LeftOutItems,
  NOTHING_LEFT_OUT,
  withLeftOut,
} from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { StoredDocument } from '../../core/domain/ports/document-ports.ts'
import type { JobDraft, JobMark, Jobs, JobWork } from '../../core/domain/ports/job-ports.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { type RechunkDeps, type Rechunked, rechunkDocuments } from './rechunk-documents.ts'

interface StoredRequest {
  /** The id, because a later knowledge base may have the same name. */
  readonly knowledgeBaseId: number
}

/** At most one waits per knowledge base, as it covers all requests. @throws AppError `too_busy` */
export async function startRechunk(
  kb: KnowledgeBase,
  { jobs }: { readonly jobs: Pick<Jobs, 'list' | 'requestOf' | 'start'> },
): Promise<Job> {
  for (const job of jobs.list()) {
    const isNamedSo = job.projectName === kb.projectName && job.knowledgeBase === kb.name
    if (!isNamedSo || job.kind !== 'rechunk' || job.state !== 'queued') continue
    // Only `rechunkDraft` creates these requests, so the type is right.
    const request = (await jobs.requestOf(job.id)) as StoredRequest
    if (request.knowledgeBaseId === kb.id) return job
  }
  return jobs.start(rechunkDraft(kb))
}

function rechunkDraft({ id, name, projectName }: KnowledgeBase): JobDraft {
  const request: StoredRequest = { knowledgeBaseId: id }
  const title = `Re-chunk the documents of ${name}`
  return { kind: 'rechunk', projectName, knowledgeBase: name, title, request }
}

/** Progress in storage order. A re-chunked document moves to the end. */
interface Checkpoint {
  /** Documents whose first chunk has at most this key are done. */
  readonly afterKey: string
  /** Documents stored before this pass began have keys up to this one. */
  readonly endKey: string
  /** The number of chunks stored by this job, to tell them from chunks that others stored. */
  readonly ownChunks: number
  /** In a further pass, documents were already counted. */
  readonly isFurtherPass: boolean
  /** A hash of the chunk settings. If they change, the job starts over. */
  readonly rules: string
}

type Deps = RechunkDeps & Pick<QueryDeps, 'catalog'>

/** Small enough for short transactions, and for a killed process to lose little work. */
const BATCH = { documents: 256, chars: 500_000 }
/** The first batch is small so that progress shows soon. Each further one is twice as large. */
const FIRST_DOCUMENTS = 8
/**
 * Each pass covers documents stored during the previous one. Stop after this many: the newest
 * documents already have the current settings.
 */
const FURTHER_PASSES_MAX = 20
/** How long to wait for a busy or unreachable provider to recover. */
const PATIENCE_MS = 600_000

/** @throws AppError of the embedder and the store; `knowledge_base_not_found` if it was dropped */
export async function runRechunkJob(work: JobWork, deps: Deps, signal: AbortSignal): Promise<void> {
  const { embedders } = deps
  const patient = {
    ...deps,
    embedders: { ...embedders, embedder: (ref) => embedders.embedder(ref, PATIENCE_MS) },
  } satisfies Deps
  const run = await RechunkRun.begin(work, patient)
  while (await run.next(signal)) signal.throwIfAborted()
}

class RechunkRun {
  readonly #work: JobWork
  readonly #deps: Deps
  #checkpoint: Checkpoint
  #progress: JobProgress
  #leftOut: LeftOutItems
  #documentsMax = FIRST_DOCUMENTS
  #furtherPasses = 0

  private constructor(work: JobWork, deps: Deps, checkpoint: Checkpoint) {
    this.#work = work
    this.#deps = deps
    this.#checkpoint = checkpoint
    this.#progress = work.job.progress
    this.#leftOut = work.job
  }

  static async begin(work: JobWork, deps: Deps): Promise<RechunkRun> {
    const kb = jobTarget(work, deps)
    // Only this job writes its checkpoint, so the type is right.
    const known = work.checkpoint as Checkpoint | null
    const run = new RechunkRun(work, deps, known ?? (await beginning(kb, deps, work.job)))
    if (known === null) await run.#count(kb)
    return run
  }

  /** Re-chunks the next documents. @returns false if there are none */
  async next(signal: AbortSignal): Promise<boolean> {
    const kb = jobTarget(this.#work, this.#deps)
    if (this.#checkpoint.rules !== rulesOf(kb)) {
      this.#checkpoint = await beginning(kb, this.#deps, this)
      this.#leftOut = NOTHING_LEFT_OUT
      await this.#count(kb)
    }
    const batch = await this.#batch(kb)
    const last = batch.at(-1)
    if (last === undefined) {
      if (await this.#beginFurtherPass(kb)) return true
      await this.#mark({ ...this.#progress, total: this.#progress.rows })
      return false
    }
    const before = this.#progress
    const done = await rechunkDocuments(
      {
        kb,
        ids: batch.map(({ id }) => id),
        // The same position works for the next batch, because re-chunked documents move to the end.
        markOf: (done) => this.#markOf(progressAfter(before, done, done.documents)),
      },
      this.#deps,
      signal,
    )
    this.#checkpoint = { ...this.#checkpoint, afterKey: String(last.firstKey) }
    this.#leftOut = done.leftOut.reduce(withLeftOut, this.#leftOut)
    const count = this.#checkpoint.isFurtherPass
      ? done.documents + done.leftOut.length
      : batch.length
    this.#progress = progressAfter(before, done, count)
    await this.#mark(this.#progress)
    return true
  }

  /** Over documents stored since this pass began, with old settings or by another job. */
  async #beginFurtherPass(kb: KnowledgeBase): Promise<boolean> {
    const { endKey, ownChunks, rules } = this.#checkpoint
    const { chunks } = this.#progress
    const nextKey = await this.#deps.chunks.nextChunkKey(kb)
    if (Number(nextKey) - Number(endKey) === chunks - ownChunks) return false
    if (this.#furtherPasses === FURTHER_PASSES_MAX) return false
    this.#furtherPasses += 1
    const afterKey = String(BigInt(endKey) - 1n)
    const next = { afterKey, endKey: String(nextKey), ownChunks: chunks, isFurtherPass: true }
    this.#checkpoint = { ...next, rules }
    return true
  }

  get progress(): JobProgress {
    return this.#progress
  }

  /** Reads the next documents in order, as many as fit in memory. */
  async #batch(kb: KnowledgeBase): Promise<readonly StoredDocument[]> {
    const { afterKey, endKey } = this.#checkpoint
    // A chat model may make only a limited number of calls per transaction.
    const limit = kb.preprocessing.contextual === undefined ? this.#documentsMax : 1
    this.#documentsMax = Math.min(2 * this.#documentsMax, BATCH.documents)
    const page = await this.#deps.documents.page(kb, { afterKey: BigInt(afterKey), limit })
    const batch: StoredDocument[] = []
    let chars = 0
    for (const document of page) {
      if (document.firstKey >= BigInt(endKey)) break
      for (const { endChar } of document.columns) chars += endChar
      if (batch.length > 0 && chars > BATCH.chars) break
      batch.push(document)
    }
    return batch
  }

  async #count(kb: KnowledgeBase): Promise<void> {
    const total = await this.#deps.documents.count(kb)
    this.#progress = { ...this.#progress, rows: 0, total }
    await this.#mark(this.#progress)
  }

  #mark(progress: JobProgress): Promise<void> {
    return this.#work.mark(this.#markOf(progress))
  }

  #markOf(progress: JobProgress): JobMark {
    const { errors, errorCount } = this.#leftOut
    return {
      jobId: this.#work.job.id,
      progress,
      checkpoint: this.#checkpoint,
      leftOut: { errors, errorCount },
    }
  }
}

function progressAfter(
  { rows, documents, chunks, total }: JobProgress,
  done: Rechunked,
  count: number,
): JobProgress {
  return {
    rows: rows + count,
    documents: documents + done.documents,
    chunks: chunks + done.chunks,
    total: total === null ? null : Math.max(total, rows + count),
  }
}

async function beginning(
  kb: KnowledgeBase,
  { chunks }: Deps,
  { progress }: Pick<Job, 'progress'>,
): Promise<Checkpoint> {
  const endKey = String(await chunks.nextChunkKey(kb))
  const ownChunks = progress.chunks
  return { afterKey: '-1', endKey, ownChunks, isFurtherPass: false, rules: rulesOf(kb) }
}

/** Hashed, because the models contain keys. */
function rulesOf({ preprocessing, language, embeddingModel }: KnowledgeBase): string {
  const { provider, modelName } = embeddingModel
  const rules = JSON.stringify([preprocessing, language, provider, modelName])
  return createHash('sha256').update(rules).digest('hex')
}

/** @throws AppError `knowledge_base_not_found` */
function jobTarget({ job, request }: JobWork, { catalog }: Deps): KnowledgeBase {
  // Only `rechunkDraft` creates these requests, and stored requests are authenticated.
  const { knowledgeBaseId } = request as StoredRequest
  return requireJobTarget(catalog.snapshot(), job, knowledgeBaseId)
}
