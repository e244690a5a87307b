/** Exports all rows of a statement to a file. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { bodyOf, requestStream } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Failure, Progress } from '../../components/failure.tsx'
import { shownBytes } from '../../components/numbers.ts'
import { useAction } from '../../components/resource.ts'
import { type Run, sentStatement } from './runs.ts'

const EXPORTS = [
  { name: 'CSV', type: 'text/csv', ending: 'csv' },
  { name: 'JSON lines', type: 'application/x-ndjson', ending: 'ndjson' },
  { name: 'Parquet', type: 'application/vnd.apache.parquet', ending: 'parquet' },
] as const

/** The statement runs again. The server refuses it if it changes something or asks an agent. */
export function ExportDialog(props: {
  readonly name: string
  readonly run: Run
  readonly onClose: () => void
}) {
  const { name, run, onClose } = props
  const { act, failure, isBusy } = useAction()
  const [bytes, setBytes] = useState(0)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const save = async ({ type, ending }: (typeof EXPORTS)[number]) => {
    abort.current = new AbortController()
    setBytes(0)
    const isSaved = await act(async () => {
      const blob = await exported(run, type, abort.current.signal, setBytes)
      saveAs(blob, `${name.replaceAll(/[^\p{L}\p{N}._ -]+/gu, '_') || 'result'}.${ending}`)
    })
    if (isSaved) onClose()
  }
  const isCancelled = failure instanceof DOMException && failure.name === 'AbortError'
  return (
    <Dialog title="Export all rows" onClose={onClose}>
      <p class="quiet">
        The statement runs again on the server, and every row is saved, including those that the
        page does not show.
      </p>
      {failure && !isCancelled && <Failure error={failure} />}
      <div class="row">
        {EXPORTS.map((form) => (
          <Button
            key={form.name}
            icon="download"
            label={form.name}
            aria-disabled={isBusy}
            onClick={() => save(form)}
          />
        ))}
      </div>
      {isBusy && (
        <div class="row">
          <Progress label={`${shownBytes(bytes)} received`} />
          <Button label="Cancel" onClick={() => abort.current.abort()} />
        </div>
      )}
    </Dialog>
  )
}

async function exported(
  run: Run,
  type: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<Blob> {
  const { sql, project, params, session } = sentStatement(run)
  const json = { query: sql, context: { db: project }, params, read_only: true, exact: true }
  const headers = { accept: type, ...(session === undefined ? {} : { 'x-session': session }) }
  const answer = await requestStream('/api/sql/query', { method: 'POST', json, headers, signal })
  const pieces: Uint8Array<ArrayBuffer>[] = []
  await bodyOf(answer, async () => {
    const reader = answer.body?.getReader()
    let bytes = 0
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      bytes += next.value.length
      pieces.push(next.value)
      onBytes(bytes)
    }
  })
  return new Blob(pieces, { type })
}

function saveAs(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // Some browsers read the file only after the click was handled.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
