/** The SQL view: statements in tabs, and their rows, charts and plans. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { readFunctions, readTableNames, written } from '../../api/sql.ts'
import { CodeEditor } from '../../components/editor/code-editor.tsx'
import type { EditorHandle, EditorMark, RunPlace } from '../../components/editor/code-mirror.ts'
import { type Span, statementsOf } from '../../components/editor/sql-code.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { useResource } from '../../components/resource.ts'
import { ResultPane } from './result-pane.tsx'
import { ParameterFields, placeIn, RunFailure, RunList, RunRow } from './run-row.tsx'
import { catalogChanges, type Run, runsOf, startRuns } from './runs.ts'
import { changeTab, currentTab, openTab, type SqlTab, showTab, tabs } from './sql-tabs.ts'
import { linked, meantStatement, type OpenedLink, parametersOf, valuesOf } from './statement.ts'
import { SchemaList, TabRow } from './tab-row.tsx'

export function SqlView() {
  const tab = currentTab()
  const editor = useRef<EditorHandle | undefined>(undefined)
  const [refused, setRefused] = useState<Refused>()
  const all = runsOf(tab.id)
  const run = all.runs[all.shown]
  const names = useTableNames()
  const functions = useResource(readFunctions, ['functions'])
  const known = useMemo(() => {
    return { functions: functions.data ?? [], tables: names.data ?? [] }
  }, [names.data, functions.data])
  const runSpans = (spans: readonly Span[]) => setRefused(startSpans(currentTab(), spans))
  const runAt = (place: RunPlace) => {
    const span = meantStatement(currentTab().sql, place)
    runSpans(span === undefined ? [] : [span])
  }
  const selection = () => editor.current?.selection() ?? { from: 0, to: 0 }
  const runHere = () => runAt(selection())
  const plan = () => {
    const span = meantStatement(tab.sql, selection())
    if (span === undefined) return runSpans([])
    const sql = `EXPLAIN ${tab.sql.slice(span.from, span.to)}`
    const opened = openTab({ sql, project: tab.project, params: tab.params })
    setRefused(startSpans(opened, statementsOf(sql)))
  }
  const runAll = () => runSpans(statementsOf(currentTab().sql))
  useLink(setRefused)
  const marks = useMemo(() => marksOf(run, tab.sql), [run?.failure, tab.sql])
  const parameters = useMemo(() => parametersOf(tab.sql), [tab.sql])
  const statementCount = useMemo(() => statementsOf(tab.sql).length, [tab.sql])
  return (
    <>
      <PageHeader title="SQL" />
      <TabRow />
      <div class="sql-desk">
        <SchemaList
          of={names}
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
              label="Statement"
              placeholder="SELECT … Ctrl+Enter runs it. Escape, then Tab leaves the editor"
              marks={marks}
              names={known}
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
            onRun={runHere}
            onPlan={plan}
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

interface Refused {
  readonly id: string
  readonly text: string
}

/** Runs parts of a tab's text. @returns the reason if nothing was started */
function startSpans(
  { id, sql: text, project, params: typed }: SqlTab,
  spans: readonly Span[],
  isReadOnly = false,
): Refused | undefined {
  if (spans.length === 0) return { id, text: 'Write a statement first' }
  const whole = spans.map(({ from, to }) => text.slice(from, to))
  const params = valuesOf(typed, whole.flatMap(parametersOf))
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

/** Opens the statement from the address in a tab, once, and runs it if it only reads. */
function useLink(onRefused: (refused: Refused | undefined) => void): void {
  const { url, route } = useLocation()
  useEffect(() => {
    const follow = () => {
      const opened = linked(location.search.slice(1)) ?? linked(location.hash.slice(1))
      if (opened === undefined) return
      onRefused(openLinked(opened))
      // The statement can now be edited, so the address no longer contains it.
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
  // The server refuses statements that change something or ask an agent.
  return isRun ? startSpans(tab, statementsOf(tab.sql), true) : undefined
}

function isSame(tab: SqlTab, { sql, project = tab.project, params }: Omit<OpenedLink, 'isRun'>) {
  const isEqual = JSON.stringify(tab.params) === JSON.stringify(params)
  return tab.sql === sql && tab.project === project && isEqual
}

/** The names that statements can use, reloaded after a statement that may have changed them. */
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

function marksOf(run: Run | undefined, text: string): readonly EditorMark[] {
  const place = run === undefined ? undefined : placeIn(run, text)
  if (run?.failure === undefined || place === undefined) return []
  return [{ ...place, message: run.failure.message.split('\n')[0] ?? '' }]
}
