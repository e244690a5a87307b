import { useEffect, useRef, useState } from 'preact/hooks'
import { csvRow } from '../../../core/domain/csv.ts'
import { ApiError, bodyOf, requestStream } from '../../api/request.ts'
import type { Cell } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Failure, Progress } from '../../components/failure.tsx'
import { shownBytes } from '../../components/numbers.ts'
import { useAction } from '../../components/resource.ts'
import { cellText, isNothing } from '../../components/table/cell-text.ts'
import { keysOf } from './json-of-run.tsx'
import type { Run } from './runs.ts'

const EXPORTS = [
  { name: 'CSV', type: 'text/csv', ending: 'csv' },
  { name: 'JSON', type: 'application/json', ending: 'json' },
  { name: 'JSON lines', type: 'application/x-ndjson', ending: 'ndjson' },
  { name: 'Parquet', type: 'application/vnd.apache.parquet', ending: 'parquet' },
] as const

type Form = (typeof EXPORTS)[number]

interface ExportDialogProps {
  readonly name: string
  readonly run: Run
  readonly onClose: () => void
}

/** All rows as a file. The statement runs again, unless that would change something or ask an agent once more. */
export function ExportDialog({ name, run, onClose }: ExportDialogProps) {
  const { act, failure, isBusy } = useAction()
  const [bytes, setBytes] = useState(0)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const save = async (form: Form) => {
    abort.current = new AbortController()
    const { signal } = abort.current
    setBytes(0)
    const isSaved = await act(async () => {
      const blob = await exported(form, { run, signal, onBytes: setBytes })
      saveAs(blob, `${name.replaceAll(/[^\p{L}\p{N}._ -]+/gu, '_') || 'result'}.${form.ending}`)
    })
    if (isSaved) onClose()
  }
  const isCancelled = failure instanceof DOMException && failure.name === 'AbortError'
  return (
    <Dialog title="Export all rows" onClose={onClose}>
      <p class="quiet">
        The statement runs again on the server, and every row of it is saved, also those that the
        page does not show.
      </p>
      {failure && !isCancelled && <Failure error={failure} />}
      <div class="row">
        {EXPORTS.map((form) => (
          <Button icon="download" key={form.name} aria-disabled={isBusy} onClick={() => save(form)}>
            {form.name}
          </Button>
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

interface Wanted {
  readonly run: Run
  readonly signal: AbortSignal
  readonly onBytes: (bytes: number) => void
}

async function exported(form: Form, wanted: Wanted): Promise<Blob> {
  const { run } = wanted
  try {
    return await fetched(form, wanted)
  } catch (error) {
    const isRefused = error instanceof ApiError && error.code === 'sql_not_a_query'
    if (!isRefused) throw error
    const isHere = run.state === 'done' && !run.isCut
    if (isHere && form.ending !== 'parquet') return shownRows(run, form)
    throw new ApiError({
      code: 'sql_not_a_query',
      status: 400,
      title: 'It would have to run again',
      message: `The statement changes something or asks an agent, so it does not run again for an export.${
        isHere ? ' As CSV and JSON, the rows that are shown can be saved' : ''
      }`,
    })
  }
}

async function fetched(
  { type }: Form,
  { run: { statement }, signal, onBytes }: Wanted,
): Promise<Blob> {
  const { sql, project, params, session } = statement
  const isJson = type === 'application/json'
  const json = { query: sql, context: { db: project }, params, read_only: true, exact: true }
  // Objects, one a line, are a list once commas stand between them.
  const headers = {
    accept: isJson ? 'application/x-ndjson' : type,
    ...(session === undefined ? {} : { 'x-session': session }),
  }
  const answer = await requestStream('/api/sql/query', { method: 'POST', json, headers, signal })
  const pieces: Uint8Array<ArrayBuffer>[] = []
  await bodyOf(answer, async () => {
    const reader = answer.body?.getReader()
    let bytes = 0
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      bytes += next.value.length
      pieces.push(isJson ? listed(next.value) : next.value)
      onBytes(bytes)
    }
  })
  if (!isJson) return new Blob(pieces, { type })
  return new Blob(['[', ...withoutLast(pieces), ']\n'], { type })
}

const LINE_END = 10
const COMMA = 44

/** A line break within a text is written as `\n`: each byte of it is the end of an object. */
function listed(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes.map((byte) => (byte === LINE_END ? COMMA : byte))
}

/** No comma stands before the end of the list. */
function withoutLast(
  pieces: readonly Uint8Array<ArrayBuffer>[],
): readonly Uint8Array<ArrayBuffer>[] {
  const last = pieces.at(-1)
  return last === undefined ? [] : [...pieces.slice(0, -1), last.subarray(0, -1)]
}

/** What the page holds, which is all of it. */
function shownRows({ columns, rows }: Run, { type, ending }: Form): Blob {
  if (ending === 'csv') {
    const names = columns.map(({ name }) => name)
    return new Blob(
      [names, ...rows].map((row) => csvRow(row.map(csvText))),
      { type },
    )
  }
  const keys = keysOf(columns)
  const objects = rows.map((row) => {
    return JSON.stringify(Object.fromEntries(keys.map((name, index) => [name, row[index]])))
  })
  return new Blob([ending === 'json' ? `[${objects.join(',\n')}]\n` : `${objects.join('\n')}\n`], {
    type,
  })
}

function csvText(cell: Cell): string | null {
  return isNothing(cell) ? null : cellText(cell)
}

function saveAs(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // Some browsers read it only after the click was dealt with.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
