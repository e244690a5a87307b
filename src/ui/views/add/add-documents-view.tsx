/** Ways to fill a knowledge base, and the jobs that do it. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../../api/catalog.ts'
import { documentChanges } from '../../api/documents.ts'
import { isUnchangedSync, listJobs } from '../../api/jobs.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { Job, JobList } from '../../api/records.ts'
import { ApiError } from '../../api/request.ts'
import { mayUpload } from '../../api/session.ts'
import { Button, Icon } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { counted, shownBytes } from '../../components/numbers.ts'
import { Section } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { WindowDrop } from '../../uploads/drop-anywhere.tsx'
import { FilePicker, type NamedFile } from '../../uploads/picked-files.tsx'
import { SendingProgress } from '../../uploads/sending-progress.tsx'
import {
  addUploads,
  forgetUpload,
  lastUploadJob,
  OCR_HELP,
  retryUpload,
  sendings,
  takeStored,
  type Upload,
  uploads,
} from '../../uploads/uploads.ts'
import { KnowledgeBaseFrame } from '../knowledge-base/knowledge-base-frame.tsx'
import { AddPages, AddRows, AddText } from './add-forms.tsx'
import { Sources } from './source-list.tsx'

const WAYS = [
  { from: 'files', label: 'Files' },
  { from: 'pages', label: 'Web pages' },
  { from: 'sql', label: 'SQL' },
  { from: 'text', label: 'Paste text' },
  { from: 'sources', label: 'Sync' },
] as const

export function AddDocumentsView({ project, name }: KnowledgeBaseName) {
  const { query, path } = useLocation()
  const [begun, setBegun] = useState<Job>()
  const ways = mayUpload() ? WAYS : WAYS.filter(({ from }) => from !== 'files')
  const shown = ways.find(({ from }) => from === query.from)?.from ?? ways[0]?.from
  const way = { project, name, onBegun: setBegun }
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <nav class="row" aria-label="Where from">
        {ways.map(({ from, label }) => (
          <a
            key={from}
            class="button"
            href={`${path}?from=${from}`}
            aria-current={from === shown ? 'true' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <section class="panel stack" aria-label={WAYS.find(({ from }) => from === shown)?.label}>
        {shown === 'files' && <AddFiles project={project} name={name} />}
        {shown === 'pages' && <AddPages {...way} />}
        {shown === 'sql' && <AddRows {...way} />}
        {shown === 'text' && <AddText {...way} />}
        {shown === 'sources' && <Sources {...way} />}
      </section>
      <InsertJobs
        project={project}
        name={name}
        newest={Math.max(begun?.id ?? 0, lastUploadJob.value?.id ?? 0)}
      />
    </KnowledgeBaseFrame>
  )
}

const SHOWN_MAX = 5
const OTHERS: ReadonlySet<Job['kind']> = new Set(['rechunk', 'move'])

/** No re-chunking (in the settings), moves, or syncs without changes (with the source). */
async function lastInserts({ project, name }: KnowledgeBaseName, signal: AbortSignal) {
  const found: Job[] = []
  for (let offset: number | null = 0; offset !== null && found.length < SHOWN_MAX; ) {
    const page = { project, knowledgeBase: name, limit: 4 * SHOWN_MAX, offset }
    const { items, next }: JobList = await listJobs(page, signal)
    found.push(...items.filter((job) => !OTHERS.has(job.kind) && !isUnchangedSync(job)))
    offset = next
  }
  return { items: found.slice(0, SHOWN_MAX) }
}

/** They run on the server, so they continue without this page. */
function InsertJobs(
  props: KnowledgeBaseName & {
    /** The id of a job that has just started; 0 if none has. */
    readonly newest: number
  },
) {
  const { project, name, newest } = props
  const { data, failure, reload } = useResource(
    (signal) => lastInserts({ project, name }, signal),
    [project, name],
    [newest],
  )
  if (failure && data === undefined) return <Failure error={failure} onRetry={reload} />
  if (data === undefined || data.items.length === 0) return null
  return (
    <Section
      title="What was added"
      class="panel stack"
      buttons={
        data.items.some(({ documents }) => documents > 0) && (
          <>
            <a class="button small" href={addressOf.searchLab(project, name)}>
              Search it
            </a>
            <a class="button small" href={addressOf.knowledgeBase(project, name)}>
              See the documents
            </a>
          </>
        )
      }
    >
      {data.items.map((job) => (
        <JobProgress
          key={job.id}
          job={job}
          onOver={() => {
            reload()
            documentChanges.value += 1
            refreshCatalog().catch(() => {})
          }}
        />
      ))}
    </Section>
  )
}

/** The most failed files listed; the rest is only counted. */
const FAILED_MAX = 100
const GOING_MAX = 10

/** Adds dropped or chosen files to a knowledge base, and shows each one's progress and error. */
function AddFiles({ project, name }: KnowledgeBaseName) {
  const add = (files: readonly NamedFile[]) => addUploads(project, name, files)
  const sending = sendings().find((one) => one.project === project && one.knowledgeBase === name)
  const mine = uploads.value.filter((one) => one.project === project && one.knowledgeBase === name)
  return (
    <>
      <div class="empty-state">
        <Icon name="upload" />
        <strong>Drop files or folders anywhere on this page</strong>
        <p class="small quiet">
          PDF, Word, slides, spreadsheets, CSV, JSON, Markdown, HTML, EPUB, mail, notebooks, code
          and plain text. In a table, each row becomes a document.
        </p>
        <FilePicker onFiles={add} />
      </div>
      {sending && sending.files > 1 && <SendingProgress of={sending} />}
      {mine.length > 0 && <UploadList all={mine} />}
      <WindowDrop label={`Drop to add to ${name}`} onFiles={add} />
    </>
  )
}

function isNameTaken({ failure }: Upload): boolean {
  return failure instanceof ApiError && failure.code === 'file_exists'
}

/** Whether the user must answer: a model can read the file, for a price stated in `failure`. */
function asksForOcr({ failure }: Upload): boolean {
  return failure instanceof ApiError && failure.code === 'ocr_unconfirmed'
}

/** For a file of the same name, but not for a ZIP, whose content is unknown. */
function mayTakeStored(upload: Upload): boolean {
  return isNameTaken(upload) && !/\.zip$/i.test(upload.name)
}

/** Statuses caused by the file itself: its name, type or size. */
const REFUSED: readonly number[] = [400, 413, 415, 422]

/** Whether a retry may help. It does not if the file itself is the problem. */
function mayRetry(upload: Upload): boolean {
  const { failure, content, partOf, storedAs } = upload
  if (isNameTaken(upload) || storedAs.length > 0) return true
  if (content.size === 0 || partOf !== undefined) return false
  return !(failure instanceof ApiError && REFUSED.includes(failure.status))
}

function UploadList({ all }: { readonly all: readonly Upload[] }) {
  const failed = all.filter(({ state }) => state === 'failed')
  const going = all.filter(({ state }) => state !== 'failed')
  // Uploads that need the user come first, then running ones.
  const shown = [
    ...failed.slice(0, FAILED_MAX),
    ...going.toSorted((a, b) => ORDER[a.state] - ORDER[b.state]).slice(0, GOING_MAX),
  ]
  const rest = all.length - shown.length
  return (
    <>
      <p role="status">
        {going.length > 0 && `${counted(going.length, 'file')} uploading. `}
        {failed.length > 0 && `${counted(failed.length, 'file')} could not be added.`}
      </p>
      {all.length > 1 && <OfAll going={going} failed={failed} />}
      <ul class="list add-files" aria-label="Uploads">
        {shown.map((upload) => (
          <UploadEntry key={upload.id} upload={upload} />
        ))}
        {rest > 0 && <li class="small quiet">and {counted(rest, 'more', 'more')}</li>}
      </ul>
    </>
  )
}

const ORDER = { failed: 0, sending: 1, waiting: 2, arrived: 3 } as const

function OfAll(props: { readonly going: readonly Upload[]; readonly failed: readonly Upload[] }) {
  const { going, failed } = props
  const again = failed.filter((upload) => mayRetry(upload) && !isNameTaken(upload))
  const actions = [
    ['Replace all', failed.filter(isNameTaken), replaceUpload],
    ['Read all', failed.filter(asksForOcr), ({ id }: Upload) => retryUpload(id, { ocr: 'yes' })],
    ['Try again', again, ({ id }: Upload) => retryUpload(id)],
    ['Clear', failed, ({ id }: Upload) => forgetUpload(id)],
    ['Cancel upload of', going, ({ id }: Upload) => forgetUpload(id)],
  ] as const
  return (
    <div class="row">
      {actions.map(([words, some, act]) => {
        if (some.length < 2) return null
        const label = `${words} ${some.length}`
        return <Button key={words} look="small" label={label} onClick={() => some.forEach(act)} />
      })}
    </div>
  )
}

const replaceUpload = ({ id }: Upload) => retryUpload(id, { replaces: true })

/** Actions for a file that was not added, each with a label and a function. */
function waysOn(upload: Upload): readonly (readonly [words: string, act: () => void])[] {
  const { id, partOf } = upload
  if (asksForOcr(upload)) {
    return [
      ['Read them', () => retryUpload(id, { ocr: 'yes', replaces: partOf !== undefined })],
      ['Leave them out', () => retryUpload(id, { ocr: 'no', replaces: partOf !== undefined })],
    ]
  }
  if (isNameTaken(upload)) {
    const replace = partOf ? 'Replace the whole ZIP' : 'Replace it'
    return [
      [replace, () => replaceUpload(upload)],
      ...(mayTakeStored(upload) ? ([['Use that file', () => takeStored(id)]] as const) : []),
    ]
  }
  return mayRetry(upload) ? [['Try again', () => retryUpload(id)]] : []
}

function UploadEntry({ upload }: { readonly upload: Upload }) {
  const { id, name, content, state, sentBytes, failure } = upload
  return (
    <li>
      <div class="row">
        <Icon name={state === 'failed' ? 'warning' : 'file'} />
        <span class="grow">{name}</span>
        <span class="small quiet">{wordsOf(upload)}</span>
        {state === 'failed' &&
          waysOn(upload).map(([words, act]) => (
            <Button
              key={words}
              look="small"
              label={words}
              aria-label={`${words}: ${name}`}
              onClick={act}
            />
          ))}
        {failure?.message.includes('Set an OCR model') && (
          <a class="button small" href={OCR_HELP.href}>
            {OCR_HELP.label}
          </a>
        )}
        <Button
          look="small icon-only quiet"
          icon="close"
          aria-label={state === 'failed' ? `Clear ${name}` : `Cancel upload of ${name}`}
          onClick={() => forgetUpload(id)}
        />
      </div>
      {state === 'sending' && (
        <progress aria-label={`Sending ${name}`} value={sentBytes} max={content.size} />
      )}
      {failure && (
        <p class="small bad pre" role="alert">
          {wordsOfFailure(upload, failure)}
        </p>
      )}
    </li>
  )
}

function wordsOfFailure(upload: Upload, { message }: Error): string {
  // Removes advice meant for programs, because the page has buttons for this.
  if (asksForOcr(upload)) return message.replace(/ Send it again .*/s, '')
  if (!isNameTaken(upload)) return message
  if (!mayTakeStored(upload)) {
    return 'The server already has files with the names in this ZIP. Replace them, or clear this upload.'
  }
  return upload.partOf
    ? 'The server already has a file with this name. Use that file, or replace everything in the ZIP.'
    : 'The server already has a file with this name. Replace it, or use that file.'
}

function wordsOf({ state, sentBytes, content, cuts, partOf }: Upload): string {
  if (state === 'waiting' && cuts > 0) return 'Interrupted, sending again'
  if (state === 'waiting') return `${shownBytes(content.size)}, waiting`
  if (state === 'arrived') return 'Uploaded'
  if (state === 'failed') return partOf ? '' : shownBytes(content.size)
  if (sentBytes >= content.size) return 'Uploaded, being read'
  return `${shownBytes(sentBytes)} of ${shownBytes(content.size)}`
}
