/** Statements: several at hand, run by a key, their rows as a table, a chart, JSON or a plan. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects } from '../../api/catalog.ts'
import { readTableNames } from '../../api/schema-names.ts'
import { SqlError } from '../../api/sql.ts'
import { CodeEditor } from '../../components/code-editor.tsx'
import type { EditorHandle, RunPlace } from '../../components/editor/code-mirror.ts'
import { sqlCompletion, written } from '../../components/editor/sql-completion.ts'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useResource } from '../../components/resource.ts'
import { shownCount, shownDuration } from '../../format/numbers.ts'
import { useShortcuts } from '../../shell/keyboard.tsx'
import { ParameterFields, valuesOf } from './parameter-fields.tsx'
import { ResultPane } from './result-pane.tsx'
import { SchemaList } from './schema-list.tsx'
import { SqlActions } from './sql-actions.tsx'
import { changeTab, currentTab, openTab, type SqlTab, tabs } from './sql-tabs.ts'
import { isReading, meantStatement, parametersOf, placeOfError } from './statement-at.ts'
import { TabRow } from './tab-row.tsx'
import { type Run, useRun } from './use-run.ts'

const NO_NAMES = { tables: [], functions: [] }

export function SqlView() {
  const tab = currentTab()
  const editor = useRef<EditorHandle | undefined>(undefined)
  const { run, start, cancel } = useRun()
  const [refused, setRefused] = useState('')
  const names = useResource(readTableNames, ['table names', tabs.value.open.length > 0])
  const complete = useMemo(() => {
    return sqlCompletion({ ...NO_NAMES, tables: names.data ?? [] })
  }, [names.data])
  const runAt = (place: RunPlace) => {
    const { sql: text, project, params } = currentTab()
    const span = meantStatement(text, place)
    setRefused(span === undefined ? 'Write a statement first' : '')
    if (span === undefined) return
    const sql = text.slice(span.from, span.to)
    start({ sql, project, params: valuesOf(params, parametersOf(sql)) }, span.from)
  }
  useLink((tab, isRun) => {
    if (isRun && isReading(tab.sql))
      start({ sql: tab.sql, project: tab.project, isReadOnly: true }, 0)
  })
  useShortcuts([{ keys: 'e', does: 'Go to the editor', run: () => editor.current?.focus() }])
  const marks = useMemo(() => marksOf(run, tab.sql), [run?.failure, tab.sql])
  const parameters = parametersOf(tab.sql)
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
            openTab({ sql, name, project: tab.project })
            start({ sql, project: tab.project }, 0)
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
              onChange={(sql) => changeTab(tab.id, { sql })}
              onRun={runAt}
              onReady={(handle) => {
                editor.current = handle
              }}
            />
          </div>
          {parameters.length > 0 && <ParameterFields tab={tab} names={parameters} />}
          <RunRow
            tab={tab}
            run={run}
            refused={refused}
            onCancel={cancel}
            onRun={() => runAt(editor.current?.selection() ?? { from: 0, to: 0 })}
          />
          {run?.failure && (
            <ErrorOfRun
              run={run}
              error={run.failure}
              text={tab.sql}
              onGo={(at) => editor.current?.goTo(at)}
            />
          )}
          {run && run.columns.length > 0 && <ResultPane run={run} />}
        </div>
      </div>
    </>
  )
}

interface RunRowProps {
  readonly tab: SqlTab
  readonly run: Run | undefined
  readonly refused: string
  readonly onRun: () => void
  readonly onCancel: () => void
}

function RunRow({ tab, run, refused, onRun, onCancel }: RunRowProps) {
  return (
    <div class="row">
      {run?.state === 'running' ? (
        <button type="button" class="button danger" onClick={onCancel}>
          <Icon name="stop" />
          Cancel
        </button>
      ) : (
        <button type="button" class="button primary" onClick={onRun}>
          <Icon name="play" />
          Run
        </button>
      )}
      <label class="row">
        <span class="small quiet">in</span>
        <select
          class="sql-project"
          value={tab.project}
          onChange={(event) => changeTab(tab.id, { project: event.currentTarget.value })}
        >
          {[...new Set([tab.project, ...(projects.value ?? []).map(({ name }) => name)])].map(
            (name) => (
              <option key={name}>{name}</option>
            ),
          )}
        </select>
        <span class="visually-hidden">project where plain names are looked up</span>
      </label>
      <span class="small quiet" role="status">
        {refused || saidOf(run)}
      </span>
      <span class="grow" />
      <SqlActions tab={tab} run={run} />
    </div>
  )
}

function ErrorOfRun({
  run,
  error,
  text,
  onGo,
}: {
  readonly run: Run
  readonly error: Error
  readonly text: string
  readonly onGo: (at: number) => void
}) {
  const at = placeIn(run, text)
  return (
    <div class="stack">
      <Failure error={error} />
      {at !== undefined && (
        <div>
          <button type="button" class="button" onClick={() => onGo(at)}>
            <Icon name="arrow" />
            Go to the place
          </button>
        </div>
      )}
    </div>
  )
}

/** Opens the statement of the address in a tab of its own, once. */
function useLink(opened: (tab: { sql: string; project: string }, isRun: boolean) => void): void {
  const { query, route } = useLocation()
  useEffect(() => {
    const { q: sql, project = 'mindsdb', run } = query
    if (!sql) return
    const there = tabs.value.open.find((one) => one.sql === sql && one.project === project)
    if (there === undefined) openTab({ sql, project })
    else if (there.id !== tabs.value.current) tabs.value = { ...tabs.value, current: there.id }
    opened({ sql, project }, run === '1')
    // The address of the tab stays plain: what is typed on is not what the link said.
    route('/sql', true)
  }, [query.q, query.project])
}

/** Where in the editor's text a failure stands; undefined once the text is another one. */
function placeIn({ failure, statement, offset }: Run, text: string): number | undefined {
  if (!(failure instanceof SqlError)) return undefined
  if (text.slice(offset, offset + statement.sql.length) !== statement.sql) return undefined
  const at = placeOfError(failure.message, statement.sql)
  return at === undefined ? undefined : offset + at
}

function marksOf(run: Run | undefined, text: string) {
  const from = run === undefined ? undefined : placeIn(run, text)
  if (run?.failure === undefined || from === undefined) return []
  const word = /^[\p{L}\p{N}_]+|^./u.exec(text.slice(from))?.[0] ?? ' '
  return [{ from, to: from + word.length, message: run.failure.message.split('\n')[0] ?? '' }]
}

function saidOf(run: Run | undefined): string {
  if (run === undefined) return ''
  const took = shownDuration(run.ms)
  const rows = `${shownCount(run.rows.length)} ${run.rows.length === 1 ? 'row' : 'rows'}`
  if (run.state === 'running') return `Running for ${took}, ${rows} so far`
  if (run.state === 'failed') return `Failed after ${took}`
  if (run.state === 'cancelled') return `Cancelled after ${took}, ${rows} came`
  if (run.isCut) return `The first ${rows}: export it to have all`
  return run.columns.length === 0 ? `Done in ${took}` : `${rows} in ${took}`
}
