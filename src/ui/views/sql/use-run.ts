/** One statement as it runs: its rows while they come, how long it takes, what failed. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { refreshCatalog } from '../../api/catalog.ts'
import { asError } from '../../api/request.ts'
import { type Cell, type Statement, streamSql } from '../../api/sql.ts'
import { noteRun } from './sql-tabs.ts'

/** What the page holds of a result; an export has all of it. */
export const ROWS_MAX = 200_000
const TICK_MS = 100
/** Statements after which other things have names. */
const CHANGES_CATALOG = /^\s*(create|drop|alter|insert|update|delete)\b/i

export interface Run {
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  readonly statement: Statement
  /** Where it begins in the text of the editor. */
  readonly offset: number
  readonly columns: readonly string[]
  /** The same list, which grows while it runs. */
  readonly rows: readonly (readonly Cell[])[]
  /** Rises when rows were added. */
  readonly version: number
  readonly isCut: boolean
  readonly ms: number
  readonly failure?: Error
}

export interface Runner {
  readonly run: Run | undefined
  readonly start: (statement: Statement, offset: number) => void
  readonly cancel: () => void
}

export function useRun(): Runner {
  const [run, setRun] = useState<Run>()
  const abort = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const start = (statement: Statement, offset: number) => {
    abort.current?.abort()
    const mine = new AbortController()
    abort.current = mine
    void follow(statement, offset, mine, (next) => {
      if (abort.current === mine) setRun(next)
    })
  }
  return { run, start, cancel: () => abort.current?.abort() }
}

async function follow(
  statement: Statement,
  offset: number,
  abort: AbortController,
  show: (run: Run) => void,
): Promise<void> {
  const startedAt = performance.now()
  const rows: (readonly Cell[])[] = []
  let columns: readonly string[] = []
  let version = 0
  let isCut = false
  const shown = (state: Run['state'], failure?: Error) => {
    const ms = performance.now() - startedAt
    const now = { state, statement, offset, columns, rows, version: ++version, isCut, ms }
    show(failure === undefined ? now : { ...now, failure })
  }
  shown('running')
  let shownAt = 0
  const timer = setInterval(() => shown('running'), TICK_MS)
  try {
    await streamSql(
      { ...statement, signal: abort.signal },
      {
        columns: (names) => {
          columns = names
        },
        rows: (added) => {
          if (rows.length >= ROWS_MAX) {
            isCut = true
            abort.abort()
            return
          }
          for (const row of added) if (rows.length < ROWS_MAX) rows.push(row)
          // The first rows at once, the others at the pace of the timer.
          if (shownAt === 0) shown('running')
          shownAt = rows.length
        },
      },
    )
    ended('done')
  } catch (error) {
    if (isCut) ended('done')
    else if (abort.signal.aborted) ended('cancelled')
    else ended('failed', asError(error))
  } finally {
    clearInterval(timer)
  }

  function ended(state: Run['state'], failure?: Error): void {
    shown(state, failure)
    const { sql, project = '' } = statement
    const ms = performance.now() - startedAt
    const isOver = state === 'done'
    noteRun({ sql, project, atMs: Date.now(), ms, rows: isOver ? rows.length : null })
    if (isOver && CHANGES_CATALOG.test(sql)) void refreshCatalog().catch(() => {})
  }
}
