/**
 * What was run, tab by tab: rows while they come, how long it takes, what failed. It goes on, and stays, while other tabs
 * and views are looked at.
 */
import { signal } from '@preact/signals'
import { refreshCatalog } from '../../api/catalog.ts'
import { ApiError, asError } from '../../api/request.ts'
import { type Cell, type Column, type Statement, streamSql } from '../../api/sql.ts'
import { withoutComments } from '../../components/editor/sql-code.ts'
import type { Parameters } from './parameters.ts'
import { forgetLastRun, noteRun, rememberLastRun } from './past-runs.ts'
import { changeTab } from './sql-tabs.ts'
import { isReading } from './statement-at.ts'

/** What the page holds of a result, whichever comes first; an export has all of it. */
const ROWS_MAX = 1_000_000
const CELLS_MAX = 5_000_000
const CHARS_MAX = 400_000_000
const TICK_MS = 100

export interface Run {
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'
  readonly statement: Statement
  /** Where it begins in the text of the editor. */
  readonly offset: number
  readonly columns: readonly Column[]
  /** The same list, which grows while it runs. */
  readonly rows: readonly (readonly Cell[])[]
  /** The rest of the rows was not fetched. */
  readonly isCut: boolean
  readonly warnings: readonly string[]
  /** Rows that a statement without rows changed, where it counts them. */
  readonly affectedRows: number | null
  /** Where plain names are looked up after it: `USE` says so. */
  readonly project?: string
  readonly ms: number
  readonly failure?: Error
}

export interface TabRuns {
  readonly runs: readonly Run[]
  /** Index of the one that is looked at. */
  readonly shown: number
}

interface ToRun {
  readonly statement: Statement
  readonly offset: number
  /** As they were typed, for the history. */
  readonly typed: Parameters
  /** It ran before, and nobody has asked for it now: it is no new line of the history. */
  readonly isAgain?: boolean
}

const NOTHING: TabRuns = { runs: [], shown: 0 }
const runs = signal<ReadonlyMap<string, TabRuns>>(new Map())
const aborts = new Map<string, AbortController>()
/** Rises when a statement may have given something a name, or taken one. */
export const catalogChanges = signal(0)

export function runsOf(tabId: string): TabRuns {
  return runs.value.get(tabId) ?? NOTHING
}

export function showRun(tabId: string, shown: number): void {
  keep(tabId, { ...runsOf(tabId), shown })
}

/** Ends the statement on the server, too. */
export function cancelRuns(tabId: string): void {
  aborts.get(tabId)?.abort()
}

/** The tab is closed. */
export function forgetRuns(tabId: string): void {
  forgetLastRun(tabId)
  cancelRuns(tabId)
  aborts.delete(tabId)
  runs.value = new Map([...runs.value].filter(([id]) => id !== tabId))
}

/** One after the other, to the first that fails or is cancelled. What ran in this tab before is cancelled. Never throws. */
export async function startRuns(tabId: string, all: readonly ToRun[]): Promise<void> {
  cancelRuns(tabId)
  const abort = new AbortController()
  aborts.set(tabId, abort)
  const isMine = () => aborts.get(tabId) === abort
  keep(tabId, { runs: all.map(waiting), shown: 0 })
  let used: string | undefined
  for (const [index, one] of all.entries()) {
    if (!isMine()) return
    keep(tabId, { ...runsOf(tabId), shown: index })
    const last = await followed(within(one, used), abort, (run) => {
      if (isMine()) keep(tabId, withRun(runsOf(tabId), index, run))
    })
    if (isMine()) remembered(tabId, one, last)
    if (last.state !== 'done') break
    if (!/^use\b/i.test(withoutComments(one.statement.sql))) continue
    used = last.project
    if (used !== undefined) changeTab(tabId, { project: used })
  }
  if (isMine()) keep(tabId, { ...runsOf(tabId), runs: runsOf(tabId).runs.filter(hasBegun) })
}

/** What ran before a reload, unless the server sees that it does not only read. */
export async function runAgain(tabId: string, one: ToRun): Promise<void> {
  await startRuns(tabId, [{ ...one, isAgain: true }])
  const failure = runsOf(tabId).runs[0]?.failure
  if (failure instanceof ApiError && failure.code === 'sql_not_a_query') forgetRuns(tabId)
}

function remembered(tabId: string, { typed, isAgain }: ToRun, run: Run): void {
  const { state, statement, offset, columns, ms } = run
  // A server that is busy, or a second reload, takes nothing from what is to come back.
  if (isAgain === true && state !== 'done') return
  const { sql, project = '' } = statement
  const isShown = state === 'done' && columns.length > 0 && isReading(sql)
  if (isShown) rememberLastRun(tabId, { sql, project, offset, ms, typed })
  else forgetLastRun(tabId)
}

function within(one: ToRun, project: string | undefined): ToRun {
  return project === undefined ? one : { ...one, statement: { ...one.statement, project } }
}

function hasBegun({ state }: Run): boolean {
  return state !== 'waiting'
}

function withRun({ runs, shown }: TabRuns, index: number, run: Run): TabRuns {
  return { shown, runs: runs.with(index, run) }
}

function keep(tabId: string, next: TabRuns): void {
  runs.value = new Map(runs.value).set(tabId, next)
}

function waiting({ statement, offset }: ToRun): Run {
  const nothing = { columns: [], rows: [], isCut: false, warnings: [] }
  return { state: 'waiting', statement, offset, ...nothing, affectedRows: null, ms: 0 }
}

/** @returns how it ended */
async function followed(one: ToRun, all: AbortController, show: (run: Run) => void): Promise<Run> {
  const startedAt = performance.now()
  const rows: (readonly Cell[])[] = []
  let run: Run = { ...waiting(one), state: 'running', rows }
  const shown = (changes: Partial<Run>) => {
    run = { ...run, ...changes, ms: performance.now() - startedAt }
    show(run)
  }
  shown({})
  const timer = setInterval(() => shown({}), TICK_MS)
  // Enough rows end this statement alone.
  const enough = new AbortController()
  const signal = AbortSignal.any([all.signal, enough.signal])
  let chars = 0
  try {
    await streamSql(
      { ...one.statement, signal },
      {
        columns: (columns) => shown({ columns }),
        warned: (warnings) => shown({ warnings }),
        changed: (affectedRows, project) => shown({ affectedRows, project }),
        rows: (added, addedChars) => {
          chars += addedChars
          const isFirst = rows.length === 0
          const rowsMax = Math.min(ROWS_MAX, Math.floor(CELLS_MAX / (run.columns.length || 1)))
          const room = rowsMax - rows.length
          for (const row of added.slice(0, room)) rows.push(row)
          if (added.length > room || chars > CHARS_MAX) enough.abort()
          // The first rows at once, the others at the pace of the timer.
          if (isFirst) shown({})
        },
      },
    )
    shown({ state: 'done' })
  } catch (error) {
    if (all.signal.aborted) shown({ state: 'cancelled' })
    else if (enough.signal.aborted) shown({ state: 'done', isCut: true })
    else shown({ state: 'failed', failure: asError(error) })
  } finally {
    clearInterval(timer)
  }
  if (one.isAgain !== true) noted(run, one.typed)
  return run
}

function noted({ statement, ms, state, rows }: Run, params: Parameters): void {
  const { sql, project = '' } = statement
  const isDone = state === 'done'
  noteRun({ sql, project, params, atMs: Date.now(), ms, rows: isDone ? rows.length : null })
  if (!isDone || isReading(sql)) return
  catalogChanges.value += 1
  // The navigation shows what it knows until it is read again.
  void refreshCatalog().catch(() => {})
}
