/**
 * The files on the server, newest first, each with links to open it in SQL, download it or delete
 * it.
 */
import { quote } from '../../../core/domain/names.ts'
import { addressOfContent, deleteFile, listFiles } from '../../api/files.ts'
import type { UploadedFile } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { Icon } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { counted, shownBytes, shownCount } from '../../components/numbers.ts'
import { Section } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { sampleLoading } from './sample.tsx'

const SHOWN_MAX = 20
const FILES_AGAIN_MS = 15_000
/** Formats with rows. A document would be a single row, which is not worth showing. */
const TABLES = /^(csv|jsonl?|parquet|xlsx|ods|table)$/

export function FileList() {
  const { data = [], failure, reload } = useResource(listFiles, [sampleLoading.value?.step])
  usePolling(reload, FILES_AGAIN_MS)
  if (failure && data.length === 0) return <Failure error={failure} onRetry={reload} />
  if (data.length === 0) return null
  const newest = data.toSorted((a, b) => b.id - a.id).slice(0, SHOWN_MAX)
  const rest = data.length - newest.length
  return (
    <Section title="Files" class="panel stack">
      <ul class="home-entries wide">
        {newest.map((file) => (
          <FileEntry key={file.id} file={file} onDeleted={reload} />
        ))}
      </ul>
      {rest > 0 && <p class="small quiet">and {shownCount(rest)} more, listed in SQL</p>}
    </Section>
  )
}

function FileEntry(props: { readonly file: UploadedFile; readonly onDeleted: () => void }) {
  const { file, onDeleted } = props
  const { name, format, size_bytes: bytes, row_count: rows } = file
  // A table created by a statement has no original bytes.
  const isSent = bytes > 0
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
        href={addressOf.statement(`SELECT * FROM files.${quote(name)}`)}
        title="Open in SQL"
      >
        {name}
      </a>
      <span class="home-about small quiet">
        {[format, isSent ? shownBytes(bytes) : '', TABLES.test(format) ? counted(rows, 'row') : '']
          .filter(Boolean)
          .join(' · ')}
      </span>
      <span class="home-ways">
        {isSent && (
          <a
            href={addressOfContent(name)}
            download={file.original_file_name}
            aria-label={`Download ${name}`}
          >
            Download
          </a>
        )}
        {may('write') && (
          <ConfirmButton
            look="small icon-only quiet"
            icon="trash"
            aria-label={`Delete ${name}`}
            asks={`Delete the file ${name}?`}
            verb="Delete"
            onConfirm={remove}
          >
            Statements can no longer read it. Documents made from it are kept.
          </ConfirmButton>
        )}
      </span>
    </li>
  )
}
