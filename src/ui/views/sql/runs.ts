/**
 * The runs of each tab: rows as they arrive, time and failure. They continue while other views are
 * open.
 */

import { signal } from '@preact/signals'
import { parsedJson } from '../../../core/json.ts'
import { refreshCatalog } from '../../api/catalog.ts'
import { asError } from '../../api/request.ts'
import { type Cell, type Column, type Statement, streamSql } from '../../api/sql.ts'
import { remember, remembered } from '../../components/browser-storage.ts'
import { withoutComments } from '../../components/editor/sql-code.ts'
import type { Order } from '../../components/table/table-model.ts'
import { changeTab } from './sql-tabs.ts'
import { isReading, type Parameters, sortedStatement } from './statement.ts'

/** Whichever limit is reached first. An export contains all of it. */
const ROWS_MAX = 500_000
const CELLS_MAX = 5_000_000
const CHARS_MAX = 400_000_000
const TICK_MS = 100

export interface Run {
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'
  readonly statement: Statement
  /** Where the statement starts in the editor's text. */
  readonly offset: number
  readonly columns: readonly Column[]
  /** Always the same array, which grows during the run. */
  readonly rows: readonly (readonly Cell[])[]
  readonly order?: Order | undefined
  /** Whether the remaining rows were not fetched. */
  readonly isCut: boolean
  readonly warnings: readonly string[]
  /** The number of changed rows, if the statement returns no rows and counts them. */
  readonly affectedRows: number | null
  readonly project?: string
  readonly ms: number
  readonly failure?: Error
}

export interface TabRuns {
  readonly runs: readonly Run[]
  readonly shown: number
}

interface ToRun {
  readonly statement: Statement
  readonly offset: number
  /** The values as typed, for the history. */
  readonly typed: Parameters
  /** Set while rows are sorted: these stay visible. The history does not change. */
  readonly before?: Run
  readonly order?: Order | undefined
}

const NOTHING: TabRuns = { runs: [], shown: 0 }
const runs = signal<ReadonlyMap<string, TabRuns>>(new Map())
const aborts = new Map<string, AbortController>()
/** Increases when a statement may have created, renamed or dropped something. */
export const catalogChanges = signal(0)

export function runsOf(tabId: string): TabRuns {
  return runs.value.get(tabId) ?? NOTHING
}

export function showRun(tabId: string, shown: number): void {
  keep(tabId, { ...runsOf(tabId), shown })
}

/** Cancels the tab's runs, also on the server. */
export function cancelRuns(tabId: string): void {
  aborts.get(tabId)?.abort()
}

/** Called when the tab is closed. */
export function forgetRuns(tabId: string): void {
  cancelRuns(tabId)
  aborts.delete(tabId)
  runs.value = new Map([...runs.value].filter(([id]) => id !== tabId))
}

/** Until one fails or is cancelled. Cancels what ran here. Never throws. */
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
    const { statement } = one
    const inPlace = used === undefined ? statement : { ...statement, project: used }
    const last = await followed({ ...one, statement: inPlace }, abort, (run) => {
      if (isMine()) keep(tabId, withRun(runsOf(tabId), index, run))
    })
    if (last.state !== 'done') break
    if (!/^use\b/i.test(withoutComments(statement.sql))) continue
    used = last.project
    if (used !== undefined) changeTab(tabId, { project: used })
  }
  const begun = runsOf(tabId).runs.filter(({ state }) => state !== 'waiting')
  if (isMine()) keep(tabId, { ...runsOf(tabId), runs: begun })
}

/** Ascending, descending, or as it was. The server sorts all rows. */
export async function sortRun(tabId: string, column: number): Promise<void> {
  const { runs: all, shown } = runsOf(tabId)
  const run = all[shown]
  if (run === undefined) return
  const isSame = run.order?.column === column
  const order = isSame && run.order?.isDescending ? undefined : { column, isDescending: isSame }
  cancelRuns(tabId)
  const abort = new AbortController()
  aborts.set(tabId, abort)
  const { statement, offset } = run
  const again = { statement: { ...statement, isReadOnly: true }, offset, order, before: run }
  await followed({ ...again, typed: {} }, abort, (next) => {
    if (aborts.get(tabId) === abort) keep(tabId, withRun(runsOf(tabId), shown, next))
  })
}

export function isSortable({ statement }: Run): boolean {
  return sortedStatement(statement.sql, { column: 0, isDescending: false }) !== undefined
}

/** The statement as it was sent, including the sort order. */
export function sentStatement({ statement, order }: Pick<Run, 'statement' | 'order'>): Statement {
  const sorted = order && sortedStatement(statement.sql, order)
  return sorted === undefined ? statement : { ...statement, sql: sorted }
}

function withRun({ runs: all, shown }: TabRuns, index: number, run: Run): TabRuns {
  return { shown, runs: all.with(index, run) }
}

function keep(tabId: string, next: TabRuns): void {
  runs.value = new Map(runs.value).set(tabId, next)
}

function waiting({ statement, offset }: ToRun): Run {
  const nothing = { columns: [], rows: [], isCut: false, warnings: [] }
  return { state: 'waiting', statement, offset, ...nothing, affectedRows: null, ms: 0 }
}

/** @returns how the run ended */
async function followed(one: ToRun, all: AbortController, show: (run: Run) => void): Promise<Run> {
  const startedAt = performance.now()
  const rows: (readonly Cell[])[] = []
  const { before, order } = one
  const { columns = [], rows: former = rows } = before ?? {}
  let run: Run = { ...waiting(one), state: 'running', columns, rows: former, order: before?.order }
  const shown = (changes: Partial<Run>) => {
    run = { ...run, ...changes, ms: performance.now() - startedAt }
    show(run)
  }
  shown({})
  const timer = setInterval(() => shown({}), TICK_MS)
  // Ends only this statement, once there are enough rows.
  const enough = new AbortController()
  const signal = AbortSignal.any([all.signal, enough.signal])
  let chars = 0
  try {
    await streamSql(
      { ...sentStatement({ statement: one.statement, order }), signal },
      {
        columns: (next) => shown({ columns: next }),
        warned: (warnings) => shown({ warnings }),
        changed: (affectedRows, project) => shown({ affectedRows, project }),
        rows: (added, addedChars) => {
          chars += addedChars
          const isFirst = rows.length === 0
          const rowsMax = Math.min(ROWS_MAX, Math.floor(CELLS_MAX / (run.columns.length || 1)))
          const room = rowsMax - rows.length
          for (const row of added.slice(0, room)) rows.push(row)
          if (added.length > room || chars > CHARS_MAX) enough.abort()
          // The first rows are shown right away, the others at regular intervals.
          if (isFirst) shown({ rows, order })
        },
      },
    )
    shown({ state: 'done', rows, order })
  } catch (error) {
    if (all.signal.aborted) shown({ state: 'cancelled' })
    else if (enough.signal.aborted) shown({ state: 'done', isCut: true, rows, order })
    else shown({ state: 'failed', failure: asError(error) })
  } finally {
    clearInterval(timer)
  }
  if (before === undefined) noted(run, one.typed)
  return run
}

function noted({ statement, ms, state, rows }: Run, params: Parameters): void {
  const { sql, project = '' } = statement
  const isDone = state === 'done'
  noteRun({ sql, project, params, atMs: Date.now(), ms, rows: isDone ? rows.length : null })
  if (!isDone || isReading(sql)) return
  catalogChanges.value += 1
  // Until the catalog is reloaded, the navigation shows the last known state.
  void refreshCatalog().catch(() => {})
}

const HISTORY_KEY = 'eider.sql.history'
const HISTORY_MAX = 300
/** A browser lets a site store about 5,000,000 characters, which open tabs need too. */
const HISTORY_CHARS_MAX = 1_000_000

export interface PastRun {
  readonly sql: string
  readonly project: string
  readonly params: Parameters
  readonly atMs: number
  readonly ms: number
  /** null if the run failed or was cancelled. */
  readonly rows: number | null
}

/** The statements that were run in this browser, newest first. */
export const pastRuns = signal<readonly PastRun[]>(storedHistory())

function noteRun(run: PastRun): void {
  // Reads the history again, because another window may have added something.
  const others = storedHistory().filter((one) => {
    return one.sql !== run.sql || one.project !== run.project
  })
  let chars = 0
  const kept = [run, ...others].slice(0, HISTORY_MAX).filter(({ sql }) => {
    chars += sql.length
    return chars <= HISTORY_CHARS_MAX
  })
  remember(HISTORY_KEY, JSON.stringify(kept))
  pastRuns.value = kept
}

export function clearHistory(): void {
  remember(HISTORY_KEY, '[]')
  pastRuns.value = []
}

function storedHistory(): readonly PastRun[] {
  const value = parsedJson(remembered(HISTORY_KEY) ?? '')
  // Only this page writes the history.
  return Array.isArray(value) ? (value as readonly PastRun[]) : []
}
