/** Actions for a statement: share it, save it as a view, show its plan, or open an earlier one. */
import { useState } from 'preact/hooks'
import { refreshCatalog } from '../../api/catalog.ts'
import { path, request } from '../../api/request.ts'
import { may } from '../../api/session.ts'
import { runSql, type Statement } from '../../api/sql.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import type { Span } from '../../components/editor/sql-code.ts'
import { EmptyState } from '../../components/failure.tsx'
import { TextField } from '../../components/form/field.tsx'
import { FormDialog } from '../../components/form/form.tsx'
import { counted, shownDuration, shownProject, shownTime } from '../../components/numbers.ts'
import { Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'
import { PlanOfRun } from './plan-of-run.tsx'
import { catalogChanges, clearHistory, type PastRun, pastRuns, type Run } from './runs.ts'
import { openTab, type SqlTab } from './sql-tabs.ts'
import { linkOf, parametersOf, statementAtHand, valuesOf } from './statement.ts'

type Open = 'none' | 'plan' | 'history' | 'view'

export function SqlActions(props: {
  readonly tab: SqlTab
  readonly run: Run | undefined
  readonly selection: () => Span
}) {
  const { tab, run, selection } = props
  const [open, setOpen] = useState<Open>('none')
  const close = () => setOpen('none')
  const meant = () => meantOf(tab, run, selection())
  const isEmpty = tab.sql.trim() === ''
  const link = linkOf(tab, location.origin)
  const others = [
    ['plan', 'Plan'],
    ...(may('write') ? ([['view', 'Save as view']] as const) : []),
  ] as const
  return (
    <div class="row">
      {link === undefined ? (
        <span class="small quiet">Too long for a link</span>
      ) : (
        <CopyButton label="Copy a link" text={link} />
      )}
      {others.map(([name, label]) => (
        <Button
          look="small"
          label={label}
          key={name}
          disabled={isEmpty}
          onClick={() => setOpen(name)}
        />
      ))}
      <Button look="small" label="History" onClick={() => setOpen('history')} />
      {open === 'plan' && <PlanDialog statement={meant()} onClose={close} />}
      {open === 'view' && <ViewDialog sql={meant().sql} project={tab.project} onClose={close} />}
      {open === 'history' && <HistoryDialog onClose={close} />}
    </div>
  )
}

function meantOf(
  { id, sql: text, project, params: typed }: SqlTab,
  run: Run | undefined,
  at: Span,
) {
  const sql = statementAtHand(text, run?.statement.sql, at)
  return { sql, project, params: valuesOf(typed, parametersOf(sql)).params, session: id }
}

/** Shows the statement's plan, or runs the statement again and shows where its time goes. */
function PlanDialog(props: { readonly statement: Statement; readonly onClose: () => void }) {
  const { statement, onClose } = props
  const { sql, project, params } = statement
  const [isMeasured, setIsMeasured] = useState(false)
  const explain = isMeasured ? 'EXPLAIN ANALYZE' : 'EXPLAIN'
  const plan = useResource(
    (signal) => runSql({ ...statement, sql: `${explain} ${sql}`, signal }),
    ['plan', explain, sql, project, params],
  )
  return (
    <Dialog title="Plan" size="wide" onClose={onClose}>
      <div class="row">
        <p class="small quiet grow">
          {isMeasured
            ? 'The statement ran; this shows where the time went. Times of several threads are added up.'
            : 'The statement did not run. Row counts are estimates.'}
        </p>
        {!isMeasured && (
          <Button icon="play" label="Run it and measure" onClick={() => setIsMeasured(true)} />
        )}
      </div>
      <Loaded of={plan} what="the plan">
        {(run) => <PlanOfRun run={run} />}
      </Loaded>
    </Dialog>
  )
}

/** Saves a SELECT as a view, which others can read like a table. */
function ViewDialog(props: {
  readonly sql: string
  readonly project: string
  readonly onClose: () => void
}) {
  const { sql, project, onClose } = props
  const [name, setName] = useState('')
  const parameters = parametersOf(sql)
  const save = async () => {
    const json = { view: { name, query: sql } }
    await request(path`/api/projects/${project}/views`, { method: 'POST', json })
    tellDone(`The view ${name} is saved in ${shownProject(project)}`)
    catalogChanges.value += 1
    void refreshCatalog().catch(() => {})
    onClose()
  }
  return (
    <FormDialog title="Save as a view" verb="Save" onSubmit={save} onClose={onClose}>
      <pre class="data-whole sql-excerpt" dir="auto">
        {sql.slice(0, 2000)}
      </pre>
      {parameters.length > 0 && (
        <p class="bad small">
          A view has no parameters. Write values instead of{' '}
          {parameters.map((one) => `:${one}`).join(', ')}.
        </p>
      )}
      <TextField
        label="Name"
        hint={`SQL reads it as ${project}.${name || 'name'}`}
        required
        autocomplete="off"
        value={name}
        onText={setName}
      />
    </FormDialog>
  )
}

const SHOWN_CHARS_MAX = 500

function HistoryDialog({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const found = pastRuns.value.filter(({ sql }) => sql.toLowerCase().includes(typed.toLowerCase()))
  return (
    <Dialog title="History" size="wide" onClose={onClose}>
      <div class="row">
        <input
          class="grow"
          type="search"
          aria-label="Find a statement"
          placeholder="Find a statement"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        {pastRuns.value.length > 0 && (
          <Button icon="trash" label="Clear history" onClick={clearHistory} />
        )}
      </div>
      {found.length === 0 && (
        <EmptyState icon="sql" title={typed === '' ? 'No statements yet' : 'No matching statement'}>
          <p>Statements that you run are listed here. They stay in this browser.</p>
        </EmptyState>
      )}
      <ul class="sql-history">
        {found.map((run) => (
          <li key={`${run.atMs} ${run.sql.slice(0, 50)}`}>
            <button
              type="button"
              class="text-button"
              onClick={() => {
                openTab({ sql: run.sql, project: run.project, params: run.params ?? {} })
                onClose()
              }}
            >
              <code class="sql-past clamped" dir="auto">
                {run.sql.slice(0, SHOWN_CHARS_MAX)}
              </code>
              <span class="small quiet">{saidOf(run)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function saidOf({ atMs, project, rows, ms }: PastRun): string {
  const at = shownTime(new Date(atMs).toISOString().replace('T', ' '))
  const ended = rows === null ? 'failed or cancelled' : counted(rows, 'row')
  return `${at} in ${shownProject(project)}, ${ended}, ${shownDuration(ms)}`
}
