/** Files into a knowledge base: dropped or chosen, each with its progress and what is wrong with it. */
import { Icon } from '../../components/icon.tsx'
import { counted, shownBytes } from '../../format/numbers.ts'
import type { KnowledgeBaseAddress } from '../knowledge-base/knowledge-base-frame.tsx'
import { FilePicker } from './file-picker.tsx'
import type { NamedFile } from './picked-files.ts'
import {
  addUploads,
  forgetUpload,
  isNameTaken,
  retryUpload,
  type Upload,
  uploads,
} from './uploads.ts'
import { WindowDrop } from './window-drop.tsx'

/** Of more files than these the rest is counted. */
const SHOWN_MAX = 100

export function AddFiles({ project, name }: KnowledgeBaseAddress) {
  const add = (files: readonly NamedFile[]) => addUploads(project, name, files)
  const mine = uploads.value.filter((one) => one.project === project && one.knowledgeBase === name)
  return (
    <>
      <div class="add-drop">
        <Icon name="upload" />
        <strong>Drop files or folders anywhere on this page</strong>
        <p class="small quiet">
          PDF, Word, slides, spreadsheets, CSV, JSON, Markdown, HTML, EPUB, mail, notebooks, code
          and plain text. Of a table each row becomes a document.
        </p>
        <FilePicker onFiles={add} />
      </div>
      {mine.length > 0 && <UploadList all={mine} />}
      <WindowDrop label={`Drop to add to ${name}`} onFiles={add} />
    </>
  )
}

function UploadList({ all }: { readonly all: readonly Upload[] }) {
  const failed = all.filter(({ state }) => state === 'failed')
  const taken = failed.filter(isNameTaken)
  const going = all.length - failed.length
  return (
    <>
      <p role="status">
        {going > 0 && `${counted(going, 'file')} on the way. `}
        {failed.length > 0 && `${counted(failed.length, 'file')} could not be added.`}
      </p>
      {failed.length > 1 && (
        <div class="row">
          {taken.length > 1 && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                for (const { id } of taken) retryUpload(id, true)
              }}
            >
              Replace all {taken.length}
            </button>
          )}
          <button
            type="button"
            class="button small quiet"
            onClick={() => {
              for (const { id } of failed) forgetUpload(id)
            }}
          >
            Clear these {failed.length}
          </button>
        </div>
      )}
      <ul class="add-files" aria-label="Files on their way">
        {/* What needs somebody stands first. */}
        {[...failed, ...all.filter(({ state }) => state !== 'failed')]
          .slice(0, SHOWN_MAX)
          .map((upload) => (
            <UploadEntry key={upload.id} upload={upload} />
          ))}
        {all.length > SHOWN_MAX && (
          <li class="small quiet">and {counted(all.length - SHOWN_MAX, 'more', 'more')}</li>
        )}
      </ul>
    </>
  )
}

function UploadEntry({ upload }: { readonly upload: Upload }) {
  const { id, name, content, state, sentBytes, failure } = upload
  const isTaken = isNameTaken(upload)
  return (
    <li>
      <div class="row">
        <Icon name={state === 'failed' ? 'warning' : 'file'} />
        <span class="grow" dir="auto">
          {name}
        </span>
        <span class="small quiet">{wordsOf(upload)}</span>
        {state === 'failed' && content.size > 0 && (
          <button
            type="button"
            class="button small"
            aria-label={`${isTaken ? 'Replace it' : 'Try again'}: ${name}`}
            onClick={() => retryUpload(id, isTaken)}
          >
            {isTaken ? 'Replace it' : 'Try again'}
          </button>
        )}
        <button
          type="button"
          class="button small icon-only quiet"
          aria-label={state === 'failed' ? `Clear ${name}` : `Stop sending ${name}`}
          onClick={() => forgetUpload(id)}
        >
          <Icon name="close" />
        </button>
      </div>
      {state === 'sending' && (
        <progress aria-label={`Sending ${name}`} value={sentBytes} max={content.size} />
      )}
      {failure && (
        <p class="small bad pre" role="alert" dir="auto">
          {isTaken ? 'There is a file of this name already.' : failure.message}
        </p>
      )}
    </li>
  )
}

function wordsOf({ state, sentBytes, content }: Upload): string {
  if (state === 'waiting') return `${shownBytes(content.size)}, waits`
  if (state === 'arrived') return 'Arrived'
  if (state === 'failed') return shownBytes(content.size)
  if (sentBytes >= content.size) return 'Sent, is being read'
  return `${shownBytes(sentBytes)} of ${shownBytes(content.size)}`
}
