/**
 * The parts around the editor: parameters, the row with the run button, the list of runs, and the
 * failure.
 */
import { useState } from 'preact/hooks'
import { SqlError } from '../../api/sql.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { Dialog, DialogButton } from '../../components/dialog.tsx'
import type { Span } from '../../components/editor/sql-code.ts'
import { EmptyState, Failure } from '../../components/failure.tsx'
import { SearchInput, TextField } from '../../components/form/field.tsx'
import { projectChoices } from '../../components/known-name.ts'
import {
  counted,
  shownCount,
  shownDuration,
  shownProject,
  shownTime,
} from '../../components/numbers.ts'
import {
  cancelRuns,
  clearHistory,
  type PastRun,
  pastRuns,
  type Run,
  showRun,
  type TabRuns,
} from './runs.ts'
import { changeTab, openTab, type SqlTab } from './sql-tabs.ts'
import { linkOf, parameterValue, placeOfError, saidOfValue } from './statement.ts'

/** A field for each `:name` in the statement. */
export function ParameterFields(props: {
  readonly tab: SqlTab
  readonly names: readonly string[]
  readonly onRun: () => void
}) {
  const { tab, names, onRun } = props
  return (
    <fieldset class="operations-filters sql-parameters">
      <legend class="small quiet">Parameters</legend>
      {names.map((name) => (
        <TextField
          key={name}
          label={`:${name}`}
          hint={`sent as ${saidOfValue(parameterValue(tab.params[name] ?? ''))}`}
          value={tab.params[name] ?? ''}
          onText={(typed) => changeTab(tab.id, { params: { ...tab.params, [name]: typed } })}
          onKeyDown={(event) => {
            if (event.key === 'Enter') onRun()
          }}
        />
      ))}
    </fieldset>
  )
}

const STATES: Readonly<Record<Run['state'], string>> = {
  waiting: 'waits',
  running: 'runs',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** The statements that ran together, with their states. The selected one is shown below. */
export function RunList({ tabId, of }: { readonly tabId: string; readonly of: TabRuns }) {
  return (
    <div class="panel flush sql-runs" role="group" aria-label="Statements run">
      {of.runs.map((run, index) => (
        <button
          key={`${run.offset}`}
          type="button"
          class={`entry ${run.state === 'failed' ? 'bad' : ''}`}
          aria-pressed={index === of.shown}
          disabled={run.state === 'waiting'}
          onClick={() => showRun(tabId, index)}
        >
          <span class="quiet">{index + 1}</span>
          <code class="one-line grow">{run.statement.sql.slice(0, 200)}</code>
          <span class="small quiet">{saidShort(run)}</span>
        </button>
      ))}
    </div>
  )
}

function saidShort(run: Run): string {
  if (run.state !== 'done') return STATES[run.state]
  const rows = run.columns.length === 0 ? 'done' : `${shownCount(run.rows.length)} rows`
  return `${rows}, ${shownDuration(run.ms)}`
}

/** Why and where a statement failed. */
export function RunFailure(props: {
  readonly run: Run
  readonly error: Error
  /** The text of the editor. */
  readonly text: string
  readonly onGo: (at: number) => void
}) {
  const { run, error, text, onGo } = props
  const place = placeIn(run, text)
  return (
    <Failure error={error}>
      {place && (
        <p>
          <Button
            look="small"
            icon="arrow"
            label="Go to the error"
            onClick={() => onGo(place.from)}
          />
        </p>
      )}
    </Failure>
  )
}

/** Where the failure is in the editor's text; undefined once the text has changed. */
export function placeIn({ failure, statement, offset }: Run, text: string): Span | undefined {
  if (!(failure instanceof SqlError)) return undefined
  const { sql } = statement
  if (text.slice(offset, offset + sql.length) !== sql) return undefined
  const place = placeOfError(failure.message, sql)
  return place && { from: offset + place.from, to: offset + place.to }
}

interface RunRowProps {
  readonly tab: SqlTab
  readonly run: Run | undefined
  /** Why nothing was started. */
  readonly refused: string
  readonly onRun: () => void
  /** Explains the statement that would run. */
  readonly onPlan: () => void
  /** Missing if the text has only one statement. */
  readonly onRunAll?: () => void
}

/** The run button, the project, the state, and further actions. */
export function RunRow({ tab, run, refused, onRun, onPlan, onRunAll }: RunRowProps) {
  const link = linkOf(tab, location.origin)
  return (
    <div class="row">
      {run?.state === 'running' ? (
        <Button look="danger" icon="stop" label="Cancel" onClick={() => cancelRuns(tab.id)} />
      ) : (
        <Button look="primary" icon="play" label="Run" title="Ctrl+Enter" onClick={onRun} />
      )}
      {onRunAll && run?.state !== 'running' && (
        <Button label="Run all" title="Ctrl+Shift+Enter" onClick={onRunAll} />
      )}
      <label class="row">
        <span class="small quiet">in</span>
        <select
          value={tab.project}
          onChange={(event) => changeTab(tab.id, { project: event.currentTarget.value })}
        >
          {projectChoices(tab.project).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
        <span class="visually-hidden">project for unqualified names</span>
      </label>
      <span class="small quiet" role="status">
        {refused || saidOf(run)}
      </span>
      <span class="grow" />
      {link === undefined ? (
        <span class="small quiet">Too long for a link</span>
      ) : (
        <CopyButton label="Copy a link" text={link} />
      )}
      <Button look="small" label="Plan" title="How the statement would run" onClick={onPlan} />
      <DialogButton look="small" label="History">
        {(onClose) => <HistoryDialog onClose={onClose} />}
      </DialogButton>
    </div>
  )
}

function saidOf(run: Run | undefined): string {
  if (run === undefined) return ''
  const took = shownDuration(run.ms)
  const rows = counted(run.rows.length, 'row')
  if (run.state === 'running') return `Running for ${took}, ${rows} so far`
  if (run.state === 'failed') return `Failed after ${took}`
  if (run.state === 'cancelled') return `Cancelled after ${took}, ${rows} received`
  if (run.isCut) return `The first ${rows}. Export to get all`
  return run.columns.length === 0 ? `Done in ${took}` : `${rows} in ${took}`
}

const SHOWN_CHARS_MAX = 500

function HistoryDialog({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const found = pastRuns.value.filter(({ sql }) => sql.toLowerCase().includes(typed.toLowerCase()))
  return (
    <Dialog title="History" size="wide" onClose={onClose}>
      <div class="row">
        <SearchInput label="Find a statement" value={typed} onText={setTyped} />
        {pastRuns.value.length > 0 && (
          <Button icon="trash" label="Clear history" onClick={clearHistory} />
        )}
      </div>
      {found.length === 0 && (
        <EmptyState icon="sql" title={typed === '' ? 'No statements yet' : 'No matching statement'}>
          <p>Statements that you run are listed here. They stay in this browser.</p>
        </EmptyState>
      )}
      <ul class="list sql-history">
        {found.map((run) => (
          <li key={`${run.atMs} ${run.sql.slice(0, 50)}`}>
            <button
              type="button"
              class="entry"
              onClick={() => {
                openTab({ sql: run.sql, project: run.project, params: run.params ?? {} })
                onClose()
              }}
            >
              <code class="pre clamped">{run.sql.slice(0, SHOWN_CHARS_MAX)}</code>
              <span class="small quiet">{saidOfPast(run)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function saidOfPast({ atMs, project, rows, ms }: PastRun): string {
  const at = shownTime(new Date(atMs).toISOString().replace('T', ' '))
  const ended = rows === null ? 'failed or cancelled' : counted(rows, 'row')
  return `${at} in ${shownProject(project)}, ${ended}, ${shownDuration(ms)}`
}
