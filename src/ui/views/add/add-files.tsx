/** Files into a knowledge base: dropped or chosen, each with its progress and what is wrong with it. */
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { Button, Icon } from '../../components/button.tsx'
import { counted, shownBytes } from '../../components/numbers.ts'
import { WindowDrop } from '../../uploads/drop-anywhere.tsx'
import type { NamedFile } from '../../uploads/picked-files.tsx'
import { FilePicker } from '../../uploads/picked-files.tsx'
import { SendingProgress } from '../../uploads/sending-progress.tsx'
import {
  addUploads,
  forgetUpload,
  isNameTaken,
  mayRetry,
  mayTakeStored,
  retryUpload,
  sendings,
  takeStored,
  type Upload,
  uploads,
} from '../../uploads/uploads.ts'

/** Of more files than these the rest is counted. */
const FAILED_MAX = 100
const GOING_MAX = 10

export function AddFiles({ project, name }: KnowledgeBaseName) {
  const add = (files: readonly NamedFile[]) => addUploads(project, name, files)
  const sending = sendings().find((one) => one.project === project && one.knowledgeBase === name)
  const mine = uploads.value.filter((one) => one.project === project && one.knowledgeBase === name)
  return (
    <>
      <div class="add-drop">
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
        {going.length > 0 && `${counted(going.length, 'file')} on the way. `}
        {failed.length > 0 && `${counted(failed.length, 'file')} could not be added.`}
      </p>
      {all.length > 1 && <OfAll going={going} failed={failed} />}
      <ul class="add-files" aria-label="Files on their way">
        {shown.map((upload) => (
          <UploadEntry key={upload.id} upload={upload} />
        ))}
        {rest > 0 && <li class="small quiet">and {counted(rest, 'more', 'more')}</li>}
      </ul>
    </>
  )
}

const ORDER = { failed: 0, sending: 1, waiting: 2, arrived: 3 } as const

/** What can be done with many at once. */
function OfAll(props: { readonly going: readonly Upload[]; readonly failed: readonly Upload[] }) {
  const { going, failed } = props
  const again = failed.filter((upload) => mayRetry(upload) && !isNameTaken(upload))
  const actions = [
    ['Replace all', failed.filter(isNameTaken), ({ id }: Upload) => retryUpload(id, true)],
    ['Try again', again, ({ id }: Upload) => retryUpload(id, false)],
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

function UploadEntry({ upload }: { readonly upload: Upload }) {
  const { id, name, content, state, sentBytes, failure } = upload
  const isTaken = isNameTaken(upload)
  const again = !isTaken ? 'Try again' : upload.partOf ? 'Replace the whole ZIP' : 'Replace it'
  return (
    <li>
      <div class="row">
        <Icon name={state === 'failed' ? 'warning' : 'file'} />
        <span class="grow" dir="auto">
          {name}
        </span>
        <span class="small quiet">{wordsOf(upload)}</span>
        {state === 'failed' && mayRetry(upload) && (
          <Button
            look="small"
            aria-label={`${again}: ${name}`}
            onClick={() => retryUpload(id, isTaken)}
          >
            {again}
          </Button>
        )}
        {mayTakeStored(upload) && (
          <Button
            look="small"
            label="Use that one"
            aria-label={`Use that one: ${name}`}
            onClick={() => takeStored(id)}
          />
        )}
        <Button
          look="small icon-only quiet"
          icon="close"
          aria-label={state === 'failed' ? `Clear ${name}` : `Stop sending ${name}`}
          onClick={() => forgetUpload(id)}
        />
      </div>
      {state === 'sending' && (
        <progress aria-label={`Sending ${name}`} value={sentBytes} max={content.size} />
      )}
      {failure && (
        <p class="small bad pre" role="alert" dir="auto">
          {isTaken ? takenWords(upload) : failure.message}
        </p>
      )}
    </li>
  )
}

function takenWords(upload: Upload): string {
  if (!mayTakeStored(upload)) {
    return 'Files of the same names as in this ZIP are on the server already. Replace them, or clear this.'
  }
  return upload.partOf
    ? 'There is a file of this name on the server already. Use that one, or replace all that the ZIP holds.'
    : 'There is a file of this name on the server already. Replace it, or use that one.'
}

function wordsOf({ state, sentBytes, content, cuts, partOf }: Upload): string {
  if (state === 'waiting' && cuts > 0) return 'Was cut off, sending again'
  if (state === 'waiting') return `${shownBytes(content.size)}, waiting`
  if (state === 'arrived') return 'Arrived'
  if (state === 'failed') return partOf ? '' : shownBytes(content.size)
  if (sentBytes >= content.size) return 'Sent, being read'
  return `${shownBytes(sentBytes)} of ${shownBytes(content.size)}`
}
