/** Statements: several at hand, run by a key, their rows as a table, a chart, JSON or a plan. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects } from '../../api/catalog.ts'
import { readFunctions, readTableNames, SqlError, written } from '../../api/sql.ts'
import { Button, Icon } from '../../components/button.tsx'
import { CodeEditor } from '../../components/editor/code-editor.tsx'
import type { EditorHandle, EditorMark, RunPlace } from '../../components/editor/code-mirror.ts'
import { type Span, statementsOf } from '../../components/editor/sql-code.ts'
import { sqlCompletion } from '../../components/editor/sql-completion.ts'
import { Failure } from '../../components/failure.tsx'
import { counted, shownCount, shownDuration } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { useResource } from '../../components/resource.ts'
import { useShortcuts } from '../../shell/keyboard.tsx'
import { linked, type OpenedLink } from './link.ts'
import { ParameterFields } from './parameter-fields.tsx'
import { NO_PARAMETERS, valuesOf } from './parameters.ts'
import { lastRunOf } from './past-runs.ts'
import { ResultPane } from './result-pane.tsx'
import {
  cancelRuns,
  catalogChanges,
  type Run,
  runAgain,
  runsOf,
  showRun,
  startRuns,
  type TabRuns,
} from './runs.ts'
import { SchemaList } from './schema-list.tsx'
import { SqlActions } from './sql-actions.tsx'
import { changeTab, currentTab, openTab, type SqlTab, showTab, tabs } from './sql-tabs.ts'
import { meantStatement, parametersOf, placeOfError } from './statement-at.ts'
import { TabRow } from './tab-row.tsx'

export function SqlView() {
  const tab = currentTab()
  const editor = useRef<EditorHandle | undefined>(undefined)
  const [refused, setRefused] = useState<Refused>()
  const all = runsOf(tab.id)
  const run = all.runs[all.shown]
  const names = useTableNames()
  const functions = useResource(readFunctions, ['functions'])
  const complete = useMemo(() => {
    return sqlCompletion({ functions: functions.data ?? [], tables: names.data ?? [] })
  }, [names.data, functions.data])
  const runSpans = (spans: readonly Span[]) => setRefused(startSpans(currentTab(), spans))
  const runAt = (place: RunPlace) => {
    const span = meantStatement(currentTab().sql, place)
    runSpans(span === undefined ? [] : [span])
  }
  const selection = () => editor.current?.selection() ?? { from: 0, to: 0 }
  const runHere = () => runAt(selection())
  const runAll = () => runSpans(statementsOf(currentTab().sql))
  useLink(setRefused)
  useEffect(() => {
    const refusal = broughtBack(currentTab())
    if (refusal !== undefined) setRefused(refusal)
  }, [tab.id])
  useShortcuts([
    { keys: 'e', does: 'Go to the editor', run: () => editor.current?.focus() },
    { keys: 'r', does: 'Go to the rows', run: focusRows },
    { keys: 'Mod+Enter', does: 'Run the statement at the cursor, or the selection', run: runHere },
    { keys: 'Mod+Shift+Enter', does: 'In the editor: run all statements', run: runAll },
    { keys: 'Mod+.', does: 'Cancel what runs', run: () => cancelRuns(currentTab().id) },
  ])
  const marks = useMemo(() => marksOf(run, tab.sql), [run?.failure, tab.sql])
  const parameters = useMemo(() => parametersOf(tab.sql), [tab.sql])
  const statementCount = useMemo(() => statementsOf(tab.sql).length, [tab.sql])
  return (
    <>
      <PageHeader title="SQL" />
      <TabRow />
      <div class="sql-desk">
        <SchemaList
          tables={names.data}
          failure={names.failure}
          onRetry={names.reload}
          onInsert={(text) => editor.current?.insert(text)}
          onPreview={({ schema, name }) => {
            const sql = `SELECT * FROM ${written(schema)}.${written(name)} LIMIT 50`
            const opened = openTab({ sql, name, project: tab.project })
            setRefused(startSpans(opened, statementsOf(sql)))
          }}
        />
        <div class="stack">
          <div class="sql-editor panel flush">
            <CodeEditor
              value={tab.sql}
              documentKey={tab.id}
              language="sql"
              label="Statement"
              placeholder="SELECT … Ctrl+Enter runs it. Escape, then Tab leaves the editor"
              marks={marks}
              complete={complete}
              onChange={(sql) => changeTab(currentTab().id, { sql })}
              onRun={runAt}
              onRunAll={runAll}
              onReady={(handle) => {
                editor.current = handle
              }}
            />
          </div>
          {parameters.length > 0 && (
            <ParameterFields tab={tab} names={parameters} onRun={runHere} />
          )}
          <RunRow
            tab={tab}
            run={run}
            refused={refused?.id === tab.id ? refused.text : ''}
            selection={selection}
            onRun={runHere}
            {...(statementCount > 1 ? { onRunAll: runAll } : {})}
          />
          {all.runs.length > 1 && <RunList tabId={tab.id} of={all} />}
          {run?.failure && (
            <RunFailure
              run={run}
              error={run.failure}
              text={tab.sql}
              onGo={(at) => editor.current?.goTo(at)}
            />
          )}
          {run && <ResultPane key={`${tab.id} ${run.offset}`} tab={tab} run={run} />}
        </div>
      </div>
    </>
  )
}

/** Why nothing was started in a tab. */
interface Refused {
  readonly id: string
  readonly text: string
}

/** Runs parts of a tab's text. @returns why it does not */
function startSpans(
  { id, sql: text, project, params: typed }: SqlTab,
  spans: readonly Span[],
  isReadOnly = false,
): Refused | undefined {
  if (spans.length === 0) return { id, text: 'Write a statement first' }
  const whole = spans.map(({ from, to }) => text.slice(from, to))
  const { params, problem } = valuesOf(typed, whole.flatMap(parametersOf))
  if (problem !== undefined) return { id, text: problem }
  const all = whole.map((sql, index) => {
    return {
      statement: { sql, project, params, session: id, isReadOnly },
      offset: spans[index]?.from ?? 0,
      typed,
    }
  })
  void startRuns(id, all)
  return undefined
}

/** What takes longer is run again by hand. */
const AGAIN_MS_MAX = 5000

/** After a reload, the rows that a tab showed. @returns why it does not */
function broughtBack({ id, sql: text, params: typed }: SqlTab): Refused | undefined {
  const last = runsOf(id).runs.length === 0 ? lastRunOf(id) : undefined
  if (last === undefined || !text.startsWith(last.sql, last.offset)) return undefined
  const { sql, project, offset, ms } = last
  const names = parametersOf(sql)
  const { params, problem } = valuesOf(typed, names)
  if (problem !== undefined) return undefined
  // With other values they would be other rows.
  const before = valuesOf(last.typed ?? NO_PARAMETERS, names)
  if (JSON.stringify(params) !== JSON.stringify(before.params)) return undefined
  if (ms > AGAIN_MS_MAX) {
    return { id, text: `It took ${shownDuration(ms)}: run it again to see its rows` }
  }
  const statement = { sql, project, params, session: id, isReadOnly: true }
  void runAgain(id, { statement, offset, typed })
  return undefined
}

/** Opens the statement of the address in a tab, once, and runs what only reads. */
function useLink(onRefused: (refused: Refused | undefined) => void): void {
  const { url, route } = useLocation()
  useEffect(() => {
    const follow = () => {
      const opened = linked(location.search.slice(1)) ?? linked(location.hash.slice(1))
      if (opened === undefined) return
      onRefused(openLinked(opened))
      // The address of the tab stays plain: what is typed on is not what the link said.
      history.replaceState(history.state, '', '/sql')
      route('/sql', true)
    }
    follow()
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [url])
}

function openLinked({ isRun, ...init }: OpenedLink): Refused | undefined {
  const there = tabs.value.open.find((one) => isSame(one, init))
  const tab = there ?? openTab(init)
  if (there !== undefined) showTab(there.id)
  // What it does is the server's to judge: it refuses what changes something or asks an agent.
  return isRun ? startSpans(tab, statementsOf(tab.sql), true) : undefined
}

function isSame(tab: SqlTab, { sql, project = tab.project, params }: Omit<OpenedLink, 'isRun'>) {
  const isEqual = JSON.stringify(tab.params) === JSON.stringify(params)
  return tab.sql === sql && tab.project === project && isEqual
}

/** What statements can name, read again after one that may have changed it. */
function useTableNames() {
  const names = useResource(readTableNames, ['table names'])
  const changes = catalogChanges.value
  const known = useRef(changes)
  useEffect(() => {
    if (known.current !== changes) names.reload()
    known.current = changes
  }, [changes])
  return names
}

function focusRows(): void {
  document.querySelector<HTMLElement>('.sql-result [role="grid"]')?.focus()
}

function marksOf(run: Run | undefined, text: string): readonly EditorMark[] {
  const place = run === undefined ? undefined : placeIn(run, text)
  if (run?.failure === undefined || place === undefined) return []
  return [{ ...place, message: run.failure.message.split('\n')[0] ?? '' }]
}

const STATES: Readonly<Record<Run['state'], string>> = {
  waiting: 'waits',
  running: 'runs',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** The statements that were run together, each with how it went; the one that is chosen is shown below. */
function RunList({ tabId, of }: { readonly tabId: string; readonly of: TabRuns }) {
  return (
    <div class="sql-runs" role="group" aria-label="Statements that were run">
      {of.runs.map((run, index) => (
        <button
          key={`${run.offset}`}
          type="button"
          class={`sql-run ${run.state}`}
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

interface RunFailureProps {
  readonly run: Run
  readonly error: Error
  /** Of the editor. */
  readonly text: string
  readonly onGo: (at: number) => void
}

/** Why a statement failed, and where. */
function RunFailure({ run, error, text, onGo }: RunFailureProps) {
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
          label="Go to the place"
          onClick={() => onGo(place.from)}
        />
      )}
    </div>
  )
}

/** Where in the editor's text a failure stands; undefined once the text is another one. */
function placeIn({ failure, statement, offset }: Run, text: string): Span | undefined {
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
  /** Where the cursor is, or what is selected. */
  readonly selection: () => Span
  readonly onRun: () => void
  /** Not given: there is one statement. */
  readonly onRunAll?: () => void
}

/** What runs a statement, in which project, how it goes, and what else can be done with it. */
function RunRow({ tab, run, refused, selection, onRun, onRunAll }: RunRowProps) {
  const names = [...new Set([tab.project, ...(projects.value ?? []).map(({ name }) => name)])]
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
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <span class="visually-hidden">project where plain names are looked up</span>
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
  if (run.isCut) return `The first ${rows}. Export it to get all`
  return run.columns.length === 0 ? `Done in ${took}` : `${rows} in ${took}`
}
