/** The stored documents split again: asked for with what it costs, and shown as it goes on. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { addressOfApi, listDocuments } from '../../../api/documents.ts'
import { isJobOver, listJobs } from '../../../api/jobs.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { DocumentTexts, KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { JobProgress } from '../../../components/job-progress.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { Loaded } from '../../../components/record-list.tsx'
import { useResource } from '../../../components/resource.ts'
import { callLine, readStoredChunks, timeLine } from './embedding-cost.ts'
import { Costs } from './embedding-settings.tsx'
import type { Preview } from './previewed-chunks.tsx'
import type { SettingsPartProps } from './saving.ts'

interface RechunkingProps extends SettingsPartProps {
  readonly documents: number
  /** As they would be cut. */
  readonly preprocessing: object
  /** It is not the one that is stored. */
  readonly isChanged: boolean
  readonly onBegin: () => Promise<void>
  /** The button that saves alone. */
  readonly children: ComponentChildren
}

export function Rechunking(props: RechunkingProps) {
  const { of, documents, isChanged, onBegin, onSaved, children } = props
  const [isAsking, setIsAsking] = useState(false)
  const [begun, setBegun] = useState(0)
  const [isRunning, setIsRunning] = useState(false)
  const what = `plit ${counted(documents, 'document')} again`
  return (
    <>
      <div class="row">
        {children}
        {documents > 0 && !isRunning && (
          <Button
            label={isChanged ? `Save and s${what}` : `S${what}`}
            onClick={({ currentTarget: { form } }) => {
              if (form?.reportValidity() !== false) setIsAsking(true)
            }}
          />
        )}
        {isRunning && isChanged && (
          <span class="small quiet">Splitting starts over when you save</span>
        )}
      </div>
      <RechunkProgress of={of} begun={begun} onRunning={setIsRunning} onOver={onSaved} />
      {isAsking && (
        <ConfirmDialog
          title={`S${what}?`}
          verb="Split again"
          onConfirm={async () => {
            await onBegin()
            setBegun((before) => before + 1)
          }}
          onClose={() => setIsAsking(false)}
        >
          <RechunkCosts {...props} />
        </ConfirmDialog>
      )}
    </>
  )
}

function RechunkCosts({ of, kb, preprocessing }: RechunkingProps) {
  const cost = useResource(
    (signal) => readRechunkCost(of, kb, preprocessing, signal),
    [of, kb.id, preprocessing],
  )
  const { provider } = kb.embedding_model
  const type = 'type' in preprocessing ? String(preprocessing.type) : ''
  return (
    <div class="stack">
      <Loaded of={cost} what="what it costs">
        {(data) => <Costs lines={rechunkLines(data, { provider, type })} />}
      </Loaded>
      <p>You can cancel it while it goes on: what is split again by then stays so.</p>
    </div>
  )
}

interface RechunkProgressProps {
  readonly of: KnowledgeBaseName
  /** Counts the jobs that were begun here. */
  readonly begun: number
  readonly onRunning: (isRunning: boolean) => void
  readonly onOver: () => void
}

/** Stored documents that are split again: how far the job is, or why it is not done. */
function RechunkProgress({ of, begun, onRunning, onOver }: RechunkProgressProps) {
  const { project, name } = of
  const { data, failure, reload } = useResource(
    async (signal) => {
      const filters = { project, knowledgeBase: name, kind: 'rechunk', limit: 1 } as const
      const [job] = (await listJobs(filters, signal)).items
      return { job }
    },
    [project, name, begun],
  )
  const job = data?.job
  const isRunning = job !== undefined && !isJobOver(job)
  const [isFollowed, setIsFollowed] = useState(false)
  useEffect(() => {
    onRunning(isRunning)
    if (isRunning) setIsFollowed(true)
  }, [isRunning])
  if (failure) return <Failure error={failure} onRetry={reload} />
  if (job === undefined) return null
  // One that went well long ago says nothing any more.
  const isNews = begun > 0 || isFollowed || job.state !== 'done' || job.error_count > 0
  if (!isNews) return null
  return (
    <section class="stack" aria-label="Stored documents split again">
      <JobProgress
        key={job.id}
        id={job.id}
        job={job}
        onChanged={reload}
        onOver={() => {
          setIsFollowed(true)
          reload()
          onOver()
        }}
      />
    </section>
  )
}

/** Of the documents that are tried: as many from the first as from the middle of all. */
const TRIED_DOCUMENTS = 8
/** A preview shows no more chunks, and reads about so many characters. */
const PREVIEWED_CHUNKS = 1000
const TRIED_CHARS = 400_000

interface RechunkCost {
  readonly documents: number
  readonly chunks: number
  readonly bytes: number
  readonly msPerChunk: number | null
  /** Of the documents that were tried; null: they could not be cut. */
  readonly tried: {
    readonly before: number
    readonly after: number
    /** Of those after: texts that no chunk of their document has yet. */
    readonly fresh: number
  } | null
}

/** What it takes to re-chunk the stored documents, as some of them tell. @throws ApiError, SqlError */
async function readRechunkCost(
  of: KnowledgeBaseName,
  kb: KnowledgeBase,
  preprocessing: object,
  signal: AbortSignal,
): Promise<RechunkCost> {
  const [stored, { total, documents }] = await Promise.all([
    readStoredChunks(of, kb, signal),
    someDocuments(of, signal),
  ])
  const tried = await tryOut({ of, kb, preprocessing, documents }, signal).catch(() => null)
  signal.throwIfAborted()
  const { chunks, bytes, msPerChunk } = stored
  return { documents: total, chunks, bytes, msPerChunk, tried }
}

async function someDocuments(of: KnowledgeBaseName, signal: AbortSignal) {
  const part = { limit: TRIED_DOCUMENTS, filters: {} }
  const first = await listDocuments(of, part, signal)
  const { total } = first
  const isMore = total > 2 * TRIED_DOCUMENTS
  const offset = Math.floor(total / 2)
  const others = isMore ? await listDocuments(of, { ...part, offset }, signal) : { items: [] }
  const texts: DocumentTexts[] = []
  let chars = 0
  for (const { id } of [...first.items, ...others.items]) {
    const one = await request<DocumentTexts>(`${addressOfApi(of)}${path`/documents/${id}`}`, {
      signal,
    })
    chars += Object.values(one.content).reduce((sum, text) => sum + text.length, 0)
    if (texts.length > 0 && chars > TRIED_CHARS) break
    texts.push(one)
  }
  return { total, documents: texts }
}

interface Trial {
  readonly of: KnowledgeBaseName
  readonly kb: KnowledgeBase
  readonly preprocessing: object
  readonly documents: readonly DocumentTexts[]
}

async function tryOut({ of, kb, preprocessing, documents }: Trial, signal: AbortSignal) {
  const rows = documents.map(({ id, content }) => ({ ...content, [kb.id_column || 'id']: id }))
  const to = path`/api/projects/${of.project}/knowledge_bases/preview`
  const json = { rows, knowledge_base: kb.name, preprocessing, limit: PREVIEWED_CHUNKS }
  const { total, chunks } = await request<Preview>(to, { method: 'POST', json, signal })
  const known = new Set(documents.flatMap(chunkTexts))
  const fresh = chunks.filter(({ content }) => !known.has(content)).length
  const before = documents.reduce((sum, one) => sum + one.chunks.length, 0)
  const share = chunks.length === 0 ? 0 : fresh / chunks.length
  return { before, after: total, fresh: total * share }
}

function chunkTexts({ content, chunks }: DocumentTexts): readonly string[] {
  return chunks.map(({ content_column: column, start_char: start, end_char: end }) => {
    return (content[column] ?? '').slice(start, end)
  })
}

/** One a line. */
function rechunkLines(
  { documents, chunks, bytes, msPerChunk, tried }: RechunkCost,
  { provider, type }: { readonly provider: string; readonly type: string },
): readonly string[] {
  const read = `${counted(documents, 'document')} are read. Those whose chunks stay the same are left alone`
  return [
    ...(tried === null || tried.before === 0
      ? [read, 'How many chunks that makes shows once it runs']
      : [read, ...chunkLines(tried)]),
    'Ids and metadata stay. Searches go on: each document is found as it was until it is as it will be',
  ]

  function chunkLines({ before, after, fresh }: NonNullable<RechunkCost['tried']>) {
    const then = Math.round((chunks * after) / before)
    const embedded = Math.round((chunks * fresh) / before)
    if (embedded === 0) return ['As far as some documents tell, nothing changes']
    const chunkBytes = (bytes / Math.max(1, chunks)) * (before / Math.max(1, after))
    return [
      `About ${counted(then, 'chunk')} instead of ${shownCount(chunks)}, by a look at some documents`,
      provider === 'builtin'
        ? `About ${shownCount(embedded)} of them are embedded. ${timeLine(embedded, msPerChunk)}`
        : `About ${shownCount(embedded)} of them are embedded. ${callLine(embedded, embedded * chunkBytes)}`,
      ...(type === 'contextual'
        ? [`The chat model is called for each: ${shownCount(then)} calls`]
        : []),
    ]
  }
}
