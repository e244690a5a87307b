/** The SQL view: statements in tabs, and their rows, charts and plans. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type NamedTable, readFunctions, readTableNames, written } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { CodeEditor } from '../../components/editor/code-editor.tsx'
import type { EditorHandle, EditorMark } from '../../components/editor/code-mirror.ts'
import { type Span, statementsOf } from '../../components/editor/sql-code.ts'
import { EmptyState } from '../../components/failure.tsx'
import { SearchInput } from '../../components/form/field.tsx'
import { shownCount } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Details, LISTED_MAX, Loaded } from '../../components/record-list.tsx'
import { type Resource, useResource } from '../../components/resource.ts'
import { ResultPane } from './result-pane.tsx'
import { ParameterFields, placeIn, RunFailure, RunList, RunRow } from './run-row.tsx'
import { catalogChanges, forgetRuns, type Run, runsOf, startRuns } from './runs.ts'
import { changeTab, closeTab, currentTab, openTab, type SqlTab, showTab, tabs } from './sql-tabs.ts'
import { linked, meantStatement, type OpenedLink, parametersOf, valuesOf } from './statement.ts'

export function SqlView() {
  const tab = currentTab()
  const editor = useRef<EditorHandle | undefined>(undefined)
  const [refused, setRefused] = useState<Refused>()
  const all = runsOf(tab.id)
  const run = all.runs[all.shown]
  // Reloaded after a statement that may have changed them.
  const names = useResource(readTableNames, [], [catalogChanges.value])
  const functions = useResource(readFunctions, ['functions'])
  const known = useMemo(() => {
    return { functions: functions.data ?? [], tables: names.data ?? [] }
  }, [names.data, functions.data])
  const runSpans = (spans: readonly Span[]) => setRefused(startSpans(currentTab(), spans))
  const runAt = (place: Span) => {
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
      <div class="with-side">
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
              placeholder="SELECT … Ctrl+Enter runs it"
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

function marksOf(run: Run | undefined, text: string): readonly EditorMark[] {
  const place = run === undefined ? undefined : placeIn(run, text)
  if (run?.failure === undefined || place === undefined) return []
  return [{ ...place, message: run.failure.message.split('\n')[0] ?? '' }]
}

/** The tabs with statements. */
function TabRow() {
  const [undo, setUndo] = useState<() => void>()
  const { open, current } = tabs.value
  return (
    <div class="row sql-tabs" role="group" aria-label="Statements">
      {open.map(({ id, name }) => (
        <span key={id} class="row kb-switch">
          <Button look="small" aria-pressed={id === current} onClick={() => showTab(id)}>
            <span class="one-line">{name}</span>
          </Button>
          <Button
            look="small quiet"
            icon="close"
            aria-label={`Close ${name}`}
            onClick={() => {
              const restore = closeTab(id)
              forgetRuns(id)
              setUndo(() => restore)
            }}
          />
        </span>
      ))}
      <Button look="small quiet" icon="plus" label="New" onClick={() => openTab()} />
      {undo && (
        <Button
          look="small"
          label="Reopen the closed tab"
          onClick={() => {
            undo()
            setUndo(undefined)
          }}
        />
      )}
    </div>
  )
}

interface SchemaListProps {
  readonly of: Resource<readonly NamedTable[]>
  readonly onInsert: (text: string) => void
  readonly onPreview: (table: NamedTable) => void
}

/** The tables that statements can name, with their columns. A click inserts a name. */
function SchemaList({ of, onInsert, onPreview }: SchemaListProps) {
  const [typed, setTyped] = useState('')
  const isFound = ({ schema, name }: NamedTable) => {
    return `${schema}.${name}`.toLowerCase().includes(typed.toLowerCase())
  }
  return (
    // Also while it loads, so that the editor does not move.
    <aside class="list side sql-schema" aria-label="Tables">
      <SearchInput label="Find a table" value={typed} onText={setTyped} />
      <Loaded of={of} what="the tables">
        {(tables) => {
          const found = tables.filter(isFound)
          return (
            <>
              {tables.length === 0 && (
                <EmptyState icon="database" title="No tables yet">
                  <p class="small">
                    <a href="/">Load the sample or drop files</a> to see tables here.
                  </p>
                </EmptyState>
              )}
              <ul class="list">
                {found.slice(0, LISTED_MAX).map((table) => (
                  <li key={`${table.schema}.${table.name}`}>
                    <Details
                      head={
                        <summary class="one-line">
                          <bdi title={`${table.schema}.${table.name}`}>
                            <span class="quiet">{table.schema}.</span>
                            {table.name}
                          </bdi>
                        </summary>
                      }
                    >
                      <TableParts table={table} {...{ onInsert, onPreview }} />
                    </Details>
                  </li>
                ))}
              </ul>
              {found.length > LISTED_MAX && (
                <p class="small quiet">
                  The first {LISTED_MAX} of {shownCount(found.length)} are shown. Type part of a
                  name.
                </p>
              )}
            </>
          )
        }}
      </Loaded>
    </aside>
  )
}

function TableParts(props: Omit<SchemaListProps, 'of'> & { readonly table: NamedTable }) {
  const { table, onInsert, onPreview } = props
  return (
    <>
      <div class="row">
        <Button
          look="small"
          label="Insert its name"
          onClick={() => onInsert(`${written(table.schema)}.${written(table.name)}`)}
        />
        <Button look="small" icon="play" label="50 rows" onClick={() => onPreview(table)} />
      </div>
      <ul class="indent">
        {table.columns.map(({ name, type }) => (
          <li key={name}>
            <button type="button" class="entry" onClick={() => onInsert(written(name))}>
              <bdi class="grow">{name}</bdi>
              <span class="quiet small">{type}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}
