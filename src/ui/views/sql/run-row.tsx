/**
 * The parts around the editor: parameters, the row with the run button, the list of runs, and the
 * failure.
 */
import { SqlError } from '../../api/sql.ts'
import { Button, Icon } from '../../components/button.tsx'
import type { Span } from '../../components/editor/sql-code.ts'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/form/field.tsx'
import { projectChoices } from '../../components/known-name.ts'
import { counted, shownCount, shownDuration } from '../../components/numbers.ts'
import { cancelRuns, type Run, showRun, type TabRuns } from './runs.ts'
import { SqlActions } from './sql-actions.tsx'
import { changeTab, type SqlTab } from './sql-tabs.ts'
import {
  NOT_TYPED,
  PARAMETER_KINDS,
  type Parameter,
  parameterValue,
  placeOfError,
  saidOfValue,
} from './statement.ts'

/** A field for each `:name` in the statement, and for its type. */
export function ParameterFields(props: {
  readonly tab: SqlTab
  readonly names: readonly string[]
  readonly onRun: () => void
}) {
  const { tab, names, onRun } = props
  return (
    <fieldset class="sql-parameters">
      <legend class="small quiet">Parameters</legend>
      {names.map((name) => (
        <ParameterField
          key={name}
          name={name}
          parameter={tab.params[name] ?? NOT_TYPED}
          onChange={(next) => changeTab(tab.id, { params: { ...tab.params, [name]: next } })}
          onRun={onRun}
        />
      ))}
    </fieldset>
  )
}

function ParameterField(props: {
  readonly name: string
  readonly parameter: Parameter
  readonly onChange: (next: Parameter) => void
  readonly onRun: () => void
}) {
  const { name, parameter, onChange, onRun } = props
  const sent = parameterValue(parameter)
  const said = sent.problem ?? `sent as ${saidOfValue(sent.value)}`
  return (
    <Field label={`:${name}`} hint={said}>
      {(control) => (
        <span class="sql-parameter">
          <input
            {...control}
            value={parameter.typed}
            dir="auto"
            disabled={parameter.kind === 'null'}
            aria-invalid={sent.problem !== undefined}
            onInput={(event) => onChange({ ...parameter, typed: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return
              event.preventDefault()
              onRun()
            }}
          />
          <select
            aria-label={`Type of :${name}`}
            value={parameter.kind}
            onChange={({ currentTarget: { value } }) => {
              const kind = PARAMETER_KINDS.find((one) => one === value) ?? 'auto'
              onChange({ ...parameter, kind })
            }}
          >
            {PARAMETER_KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </span>
      )}
    </Field>
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
    <div class="sql-runs" role="group" aria-label="Statements run">
      {of.runs.map((run, index) => (
        <button
          key={`${run.offset}`}
          type="button"
          class={`text-button sql-run ${run.state}`}
          aria-pressed={index === of.shown}
          disabled={run.state === 'waiting'}
          onClick={() => showRun(tabId, index)}
        >
          <span class="sql-run-number">{index + 1}</span>
          <code class="one-line" dir="auto">
            {run.statement.sql.slice(0, 200)}
          </code>
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
  if (!(error instanceof SqlError)) return <Failure error={error} />
  const place = placeIn(run, text)
  const [head = '', ...excerpt] = error.message.split('\n')
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div class="sql-failure">
        <strong>{error.title}</strong>
        <p class="pre" dir="auto">
          {head}
        </p>
        {excerpt.length > 0 && <pre class="sql-excerpt">{excerpt.join('\n')}</pre>}
      </div>
      {place && (
        <Button
          look="small"
          icon="arrow"
          label="Go to the error"
          onClick={() => onGo(place.from)}
        />
      )}
    </div>
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
  readonly selection: () => Span
  readonly onRun: () => void
  /** Missing if the text has only one statement. */
  readonly onRunAll?: () => void
}

/** The run button, the project, the state, and further actions. */
export function RunRow({ tab, run, refused, selection, onRun, onRunAll }: RunRowProps) {
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
      <SqlActions tab={tab} run={run} selection={selection} />
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
