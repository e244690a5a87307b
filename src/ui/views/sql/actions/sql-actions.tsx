/** What else can be done with a statement: share it, keep it as a view, export its rows, see its plan, run it again. */
import { useState } from 'preact/hooks'
import { refreshCatalog } from '../../api/catalog.ts'
import { path, request, requestStream } from '../../api/request.ts'
import { runSql } from '../../api/sql.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Loading } from '../../components/progress.tsx'
import { useAction, useResource } from '../../components/resource.ts'
import { shownDuration, shownTime } from '../../format/numbers.ts'
import { tellDone } from '../../shell/notices.tsx'
import { history, openTab, type SqlTab } from './sql-tabs.ts'
import type { Run } from './use-run.ts'

type Open = 'none' | 'plan' | 'history' | 'view' | 'export'

/** What browsers and proxies take in an address. */
const LINK_CHARS_MAX = 8000

export function SqlActions({ tab, run }: { readonly tab: SqlTab; readonly run: Run | undefined }) {
  const [open, setOpen] = useState<Open>('none')
  const close = () => setOpen('none')
  const sql = run?.statement.sql ?? tab.sql
  const link = () => {
    const query = new URLSearchParams({ q: tab.sql, project: tab.project, run: '1' })
    return `${location.origin}/sql?${query}`
  }
  const isEmpty = tab.sql.trim() === ''
  return (
    <div class="row">
      {link().length < LINK_CHARS_MAX ? (
        <CopyButton label="Copy a link" text={link} />
      ) : (
        <span class="small quiet">Too long for a link</span>
      )}
      <button type="button" class="button small" disabled={isEmpty} onClick={() => setOpen('plan')}>
        Plan
      </button>
      <button
        type="button"
        class="button small"
        disabled={isEmpty}
        onClick={() => setOpen('export')}
      >
        Export
      </button>
      <button type="button" class="button small" disabled={isEmpty} onClick={() => setOpen('view')}>
        Save as view
      </button>
      <button type="button" class="button small" onClick={() => setOpen('history')}>
        History
      </button>
      {open === 'plan' && <PlanDialog sql={sql} project={tab.project} onClose={close} />}
      {open === 'export' && <ExportDialog run={run} tab={tab} onClose={close} />}
      {open === 'view' && <ViewDialog sql={sql} project={tab.project} onClose={close} />}
      {open === 'history' && <HistoryDialog onClose={close} />}
    </div>
  )
}

interface OfStatement {
  readonly sql: string
  readonly project: string
  readonly onClose: () => void
}

function PlanDialog({ sql, project, onClose }: OfStatement) {
  const plan = useResource(
    (signal) => runSql({ sql: `EXPLAIN ${sql}`, project, signal }),
    ['plan', sql, project],
  )
  return (
    <Dialog title="Plan" size="wide" onClose={onClose}>
      {plan.failure && <Failure error={plan.failure} onRetry={plan.reload} />}
      {plan.isLoading && <Loading what="the plan" />}
      {plan.data && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
        <pre class="data-whole" tabIndex={0}>
          {plan.data.rows.map((row) => row.map(String).join('\n')).join('\n')}
        </pre>
      )}
    </Dialog>
  )
}

const EXPORTS = [
  { name: 'CSV', type: 'text/csv', extension: 'csv' },
  { name: 'JSON, a row a line', type: 'application/x-ndjson', extension: 'ndjson' },
  { name: 'Parquet', type: 'application/vnd.apache.parquet', extension: 'parquet' },
] as const

function ExportDialog({
  run,
  tab,
  onClose,
}: {
  readonly run: Run | undefined
  readonly tab: SqlTab
  readonly onClose: () => void
}) {
  const { act, failure, isBusy } = useAction()
  const save = async ({ type, extension }: (typeof EXPORTS)[number]) => {
    await act(async () => {
      const sql = run?.statement.sql ?? tab.sql
      const json = { query: sql, context: { db: tab.project }, params: run?.statement.params }
      const init = { method: 'POST', json, headers: { accept: type } } as const
      const answer = await requestStream('/api/sql/query', init)
      saveAs(await answer.blob(), `${tab.name}.${extension}`)
      onClose()
    })
  }
  return (
    <Dialog title="Export all rows" onClose={onClose}>
      <p class="quiet">The statement runs again, and every row of it is saved.</p>
      {failure && <Failure error={failure} />}
      <div class="row">
        {EXPORTS.map((form) => (
          <button
            key={form.name}
            type="button"
            class="button"
            disabled={isBusy}
            onClick={() => save(form)}
          >
            {form.name}
          </button>
        ))}
      </div>
      {isBusy && <Loading what="the rows" />}
    </Dialog>
  )
}

function saveAs(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}

function ViewDialog({ sql, project, onClose }: OfStatement) {
  const [name, setName] = useState('')
  const { act, failure, isBusy } = useAction()
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(async () => {
      const json = { view: { name, query: sql } }
      await request(path`/api/projects/${project}/views`, { method: 'POST', json })
      tellDone(`The view ${name} is saved in ${project}`)
      void refreshCatalog().catch(() => {})
      onClose()
    })
  }
  return (
    <Dialog title="Save as a view" onClose={onClose} staysOnClickBeside>
      <form class="stack" onSubmit={save}>
        <Field label="Name" hint={`SQL reads it as ${project}.name`}>
          {(control) => (
            <input
              {...control}
              required
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>
        {failure && <Failure error={failure} />}
        <button type="submit" class="button primary" disabled={isBusy}>
          Save
        </button>
      </form>
    </Dialog>
  )
}

function HistoryDialog({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const found = history.value.filter(({ sql }) => sql.toLowerCase().includes(typed.toLowerCase()))
  return (
    <Dialog title="History" size="wide" onClose={onClose}>
      <input
        type="search"
        aria-label="Find a statement"
        placeholder="Find a statement"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {found.length === 0 && (
        <EmptyState icon="sql" title={typed === '' ? 'Nothing was run yet' : 'No such statement'} />
      )}
      <ul class="sql-history">
        {found.map(({ sql, project, atMs, ms, rows }) => (
          <li key={`${atMs}`}>
            <button
              type="button"
              onClick={() => {
                openTab({ sql, project })
                onClose()
              }}
            >
              <code class="one-line" dir="auto">
                {sql}
              </code>
              <span class="small quiet">
                {shownTime(new Date(atMs).toISOString().replace('T', ' '))} in {project},{' '}
                {rows === null ? 'not finished' : `${rows} rows`}, {shownDuration(ms)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
