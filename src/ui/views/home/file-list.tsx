/** The files on the server, the newest first: each opens in SQL, can be had back, and deleted. */
import { useState } from 'preact/hooks'
import { addressOfContent, deleteFile, listFiles } from '../../api/files.ts'
import type { UploadedFile } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { quoted } from '../../api/sql.ts'
import { Button, Icon } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { counted, shownBytes } from '../../components/numbers.ts'
import { usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { sampleLoading } from './sample.tsx'

const SHOWN_AT_FIRST = 8
const SHOWN_MAX = 500
const FILES_AGAIN_MS = 15_000

export function FileList() {
  const { data, failure, reload } = useResource(listFiles, [sampleLoading.value?.step])
  usePolling(reload, FILES_AGAIN_MS)
  const [areAllShown, setAreAllShown] = useState(false)
  if (failure && data === undefined) return <Failure error={failure} onRetry={reload} />
  if (data === undefined || data.length === 0) return null
  const newest = [...data]
    .sort((a, b) => b.id - a.id)
    .slice(0, areAllShown ? SHOWN_MAX : SHOWN_AT_FIRST)
  const bytes = data.reduce((sum, { size_bytes: size }) => sum + size, 0)
  return (
    <section class="panel stack" aria-labelledby="home-file-list">
      <h2 id="home-file-list">
        Files{' '}
        <span class="quiet small">
          {data.length}, {shownBytes(bytes)}
        </span>
      </h2>
      <ul class="home-entries wide">
        {newest.map((file) => (
          <FileEntry key={file.id} file={file} onDeleted={reload} />
        ))}
      </ul>
      {data.length > SHOWN_AT_FIRST && (
        <div>
          <Button
            look="small quiet"
            label={areAllShown ? 'Show fewer' : `Show all ${data.length}`}
            aria-expanded={areAllShown}
            onClick={() => setAreAllShown(!areAllShown)}
          />
        </div>
      )}
    </section>
  )
}

interface FileEntryProps {
  readonly file: UploadedFile
  readonly onDeleted: () => void
}

function FileEntry({ file, onDeleted }: FileEntryProps) {
  const { name, format, size_bytes: bytes, row_count: rows } = file
  const remove = async () => {
    await deleteFile(name)
    onDeleted()
  }
  return (
    <li>
      <Icon name="file" />
      <a
        class="one-line"
        dir="auto"
        href={addressOf.statement(`SELECT * FROM files.${quoted(name)}`)}
        title="Open in SQL"
      >
        {name}
      </a>
      <span class="home-about small quiet">
        {format} · {shownBytes(bytes)} · {counted(rows, 'row')}
      </span>
      <span class="home-ways">
        <a
          href={addressOfContent(name)}
          download={file.original_file_name}
          aria-label={`Download ${name}`}
        >
          Download
        </a>
        {may('write') && (
          <ConfirmButton
            look="small icon-only quiet"
            icon="trash"
            aria-label={`Delete ${name}`}
            asks={`Delete the file ${name}?`}
            verb="Delete"
            onConfirm={remove}
          >
            Statements can no longer read it. Documents made from it stay.
          </ConfirmButton>
        )}
      </span>
    </li>
  )
}
