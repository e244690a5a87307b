/** Rows in the order that somebody asked for: at once where they are few, while the page goes on where they are many. */
import { useLayoutEffect, useState } from 'preact/hooks'
import type { Cell, Column } from '../../api/sql.ts'
import { type Order, sorting } from './row-order.ts'

type Rows = readonly (readonly Cell[])[]

/** So long may the page stand still: half of what a frame has. */
const SLICE_MS = 8
const TOLD_EVERY_MS = 100

export interface OrderedRows {
  readonly rows: Rows
  /** What they are in now. */
  readonly order: Order | undefined
  /** What goes on, or is to come. */
  readonly sorting: { readonly order: Order; readonly share: number | undefined } | undefined
  readonly sortBy: (column: number) => void
  /** They stay as they are. */
  readonly cancel: () => void
}

interface Done {
  readonly of: Rows
  readonly order: Order
  readonly rows: Rows
}

/** @param isGrowing more rows come: they are not sorted before all are there */
export function useOrdered(
  columns: readonly Column[],
  rows: Rows,
  isGrowing: boolean,
): OrderedRows {
  const [wanted, setWanted] = useState<Order>()
  const [done, setDone] = useState<Done>()
  const [share, setShare] = useState(0)
  const type = columns[wanted?.column ?? 0]?.type ?? ''
  useLayoutEffect(() => {
    const isDone = done?.of === rows && done.order === wanted
    if (wanted === undefined || isGrowing || isDone) return
    return inSlices(sorting(rows, wanted, type), {
      told: setShare,
      done: (sorted) => setDone({ of: rows, order: wanted, rows: sorted }),
    })
  }, [rows, isGrowing, wanted, type])
  const shown = wanted !== undefined && done?.of === rows && !isGrowing ? done : undefined
  const isDone = wanted === shown?.order
  return {
    rows: shown?.rows ?? rows,
    order: shown?.order,
    sorting:
      isDone || wanted === undefined
        ? undefined
        : { order: wanted, share: isGrowing ? undefined : share },
    sortBy: (column) => setWanted((before) => nextOrder(before, column)),
    cancel: () => setWanted(shown?.order),
  }
}

/** Up, down, and as the rows came. */
function nextOrder(before: Order | undefined, column: number): Order | undefined {
  if (before?.column !== column) return { column, isDescending: false }
  return before.isDescending ? undefined : { column, isDescending: true }
}

interface Listener {
  readonly told: (share: number) => void
  readonly done: (rows: Rows) => void
}

/** @returns what ends it */
function inSlices(steps: ReturnType<typeof sorting>, { told, done }: Listener): () => void {
  // A timer would wait some milliseconds longer each time.
  const { port1, port2 } = new MessageChannel()
  let toldAt = performance.now()
  const goOn = () => {
    const until = performance.now() + SLICE_MS
    for (;;) {
      const step = steps.next()
      if (step.done) {
        port1.close()
        done(step.value)
        return
      }
      if (performance.now() < until) continue
      if (until - toldAt > TOLD_EVERY_MS) {
        toldAt = until
        told(step.value)
      }
      port2.postMessage(undefined)
      return
    }
  }
  port1.onmessage = goOn
  told(0)
  goOn()
  return () => port1.close()
}
