import type { RowShape } from '../kernel/memory-layout.ts'
import { type KeyRows, numbersOfKeys } from './key-rows.ts'
import type { RowTable } from './row-table.ts'
import type { ScanTask } from './scan.ts'

/** Where a scan looks: all rows of a stretch, or rows of a list. */
type ScanPart = Pick<ScanTask, 'parts' | 'rows'>

/** Some rows of an index, ascending and distinct. */
export interface ChosenRows {
  readonly rows: Int32Array
  /** All of them for one scan. */
  readonly whole: ScanPart
}

interface KnownRows extends ChosenRows {
  /** Of the index, when they were looked up. */
  readonly state: number
}

/**
 * The rows of lists of keys. A list is looked up once for each state of the index, however many searches are among the
 * same keys: the list itself is known again, so that it must not be changed.
 */
export class ChosenRowsByKeys {
  readonly #rows: RowTable
  readonly #keyRows: KeyRows
  readonly #known = new WeakMap<BigInt64Array, KnownRows>()

  constructor(rows: RowTable, keyRows: KeyRows) {
    this.#rows = rows
    this.#keyRows = keyRows
  }

  /** @param state another one after each change of the index */
  of(keys: BigInt64Array, state: number): ChosenRows {
    const known = this.#known.get(keys)
    if (known?.state === state) return known
    const rows = this.#rowsOf(keys)
    const chosen = { state, rows, whole: this.#rows.listParts(rows) }
    this.#known.set(keys, chosen)
    return chosen
  }

  #rowsOf(keys: BigInt64Array): Int32Array {
    const rows = new Int32Array(keys.length)
    let count = 0
    for (const key of numbersOfKeys(keys)) {
      const row = this.#keyRows.get(key)
      if (row !== undefined) rows[count++] = row
    }
    const found = rows.subarray(0, count)
    if (isAscending(found)) return found
    found.sort()
    return found.filter((row, index) => row !== found[index - 1])
  }
}

function isAscending(rows: Int32Array): boolean {
  for (let index = 1; index < rows.length; index++) {
    if ((rows[index] ?? 0) <= (rows[index - 1] ?? 0)) return false
  }
  return true
}

/** As many parts as are worth a thread each, of all rows or of those chosen. */
export function scanParts(
  table: RowTable,
  chosen: ChosenRows | null,
  {
    shape,
    partBytesMin,
    partsMax,
  }: {
    readonly shape: RowShape
    readonly partBytesMin: number
    readonly partsMax: number
  },
): readonly ScanPart[] {
  const rowCount = chosen === null ? table.rowCount : chosen.rows.length
  const worthwhile = Math.ceil((rowCount * shape.stride) / partBytesMin)
  const count = Math.max(1, Math.min(worthwhile, partsMax))
  if (chosen !== null && count === 1) return [chosen.whole]
  return Array.from({ length: count }, (_, index): ScanPart => {
    const from = Math.floor((rowCount * index) / count)
    const to = Math.floor((rowCount * (index + 1)) / count)
    if (chosen === null) return { parts: table.rangeParts(from, to), rows: null }
    return table.listParts(chosen.rows.subarray(from, to))
  })
}
