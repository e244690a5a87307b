/** The job that rechunks a knowledge base's documents with its current settings, one by one. */
import { createHash } from 'node:crypto'
import { requireKnowledgeBase } from '../../core/domain/access/catalog-snapshot.ts'
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
import { notFound } from '../../core/errors.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { type RechunkDeps, type Rechunked, rechunkDocuments } from './rechunk-documents.ts'

interface StoredRequest {
  /** A later knowledge base of the same name is not meant. */
  readonly knowledgeBaseId: number
}

/** A knowledge base has one that waits, at most: it does what several would. @throws AppError `too_busy` */
export async function startRechunk(
  kb: KnowledgeBase,
  { jobs }: { readonly jobs: Pick<Jobs, 'list' | 'requestOf' | 'start'> },
): Promise<Job> {
  for (const job of jobs.list()) {
    const isNamedSo = job.projectName === kb.projectName && job.knowledgeBase === kb.name
    if (!isNamedSo || job.kind !== 'rechunk' || job.state !== 'queued') continue
    // Only `rechunkDraft` makes these requests.
    const request = (await jobs.requestOf(job.id)) as StoredRequest
    if (request.knowledgeBaseId === kb.id) return job
  }
  return jobs.start(rechunkDraft(kb))
}

function rechunkDraft({ id, name, projectName }: KnowledgeBase): JobDraft {
  const request: StoredRequest = { knowledgeBaseId: id }
  const title = `Split the documents of ${name} again`
  return { kind: 'rechunk', projectName, knowledgeBase: name, title, request }
}

/** Documents in storing order: a re-chunked one becomes the last. */
interface Checkpoint {
  /** First chunks of finished documents have this key or a smaller one. */
  readonly afterKey: string
  /** Documents stored before this pass have smaller keys. */
  readonly endKey: string
  /** The number of chunks stored by the job so far: others' chunks have other keys. */
  readonly ownChunks: number
  /** During a further pass, documents are already counted. */
  readonly isFurtherPass: boolean
  /** The chunk settings: a change means starting over. */
  readonly rules: string
}

type Deps = RechunkDeps & Pick<QueryDeps, 'catalog'>

/** A transaction is small enough to finish soon, and a kill loses no more than one. */
const BATCH = { documents: 64, chars: 500_000 }
/** The first has few, each next one twice as many, so that the speed is known soon. */
const FIRST_DOCUMENTS = 8
/** Each pass covers documents stored during the previous one: if that never ends, they have the current settings by now. */
const FURTHER_PASSES_MAX = 20
/** A busy or unreachable provider may recover: a job can wait. */
const PATIENCE_MS = 600_000

/** @throws AppError those of the embedder and the store; `knowledge_base_not_found` after a drop */
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
    // Only this job writes its checkpoint.
    const known = work.checkpoint as Checkpoint | null
    const run = new RechunkRun(work, deps, known ?? (await beginning(kb, deps, work.job)))
    if (known === null) await run.#count(kb)
    return run
  }

  /** The next documents. @returns false: there are none */
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
        // Reading on from here still finds the remaining documents: re-chunked ones are stored after them.
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

  /**
   * Documents stored since this pass began: by inserts that started with the old settings, or by another job while this one
   * was cancelled.
   */
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

  /** The next documents in order, at most as many as fit in memory. */
  async #batch(kb: KnowledgeBase): Promise<readonly StoredDocument[]> {
    const { afterKey, endKey } = this.#checkpoint
    // The calls of a chat model are limited per transaction.
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

/** A hash: models have keys. */
function rulesOf({ preprocessing, language, embeddingModel }: KnowledgeBase): string {
  const { provider, modelName } = embeddingModel
  const rules = JSON.stringify([preprocessing, language, provider, modelName])
  return createHash('sha256').update(rules).digest('hex')
}

/** @throws AppError `knowledge_base_not_found` */
function jobTarget({ job, request }: JobWork, { catalog }: Deps): KnowledgeBase {
  // Only `rechunkDraft` makes these requests, and a job's request is authentic.
  const { knowledgeBaseId } = request as StoredRequest
  const kb = requireKnowledgeBase(catalog.snapshot(), job.projectName, job.knowledgeBase ?? '')
  if (kb.id !== knowledgeBaseId) throw notFound('knowledge_base', kb.name)
  return kb
}
