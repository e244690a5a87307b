/** What a scenario found, and how it is printed: one row for each, the same with and without a second checkout. */
import { textTable } from '../scripts/text-table.ts'

export type Measure =
  | { readonly what: string; readonly value: number; readonly unit: string }
  | { readonly what: string; readonly load: LoadFigures }

/** Of one kind of request. */
export interface LoadFigures {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
  /** Of the server, for one request; NaN: not known. */
  readonly cpuMs: number
}

type Cells = Readonly<Record<'p50' | 'p99' | 'rate' | 'CPU' | 'value', string>>

const COLUMNS = ['measure', 'p50', 'p99', 'rate', 'CPU a request', 'value'] as const

export interface Printed {
  readonly columnNames: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** @param others of the other checkout: each figure is then followed by how many times the other's it is */
export function measureRows(
  measures: readonly Measure[],
  others: readonly Measure[] | null,
): Printed {
  const rows = measures.map((measure, index) => {
    const { p50, p99, rate, CPU, value } = cellsOf(measure, others?.[index])
    return [measure.what, p50, p99, rate, CPU, value]
  })
  const isUsed = COLUMNS.map((_, column) => column === 0 || rows.some((row) => row[column] !== ''))
  const kept = <T>(row: readonly T[]) => row.filter((_, column) => isUsed[column])
  return { columnNames: kept(COLUMNS), rows: rows.map(kept) }
}

export function printedTable({ columnNames, rows }: Printed, isMarkdown: boolean): string {
  if (!isMarkdown) return textTable(columnNames, rows, 80)
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(columnNames), line(columnNames.map(() => '---')), ...rows.map(line)].join('\n')
}

function cellsOf(measure: Measure, other: Measure | undefined): Cells {
  if ('value' in measure) {
    const otherValue = other !== undefined && 'value' in other ? other.value : undefined
    const value = figure(measure.value, ` ${measure.unit}`, otherValue)
    return { p50: '', p99: '', rate: '', CPU: '', value }
  }
  const { load } = measure
  const otherLoad = other !== undefined && 'load' in other ? other.load : undefined
  return {
    p50: figure(load.p50Ms, ' ms', otherLoad?.p50Ms),
    p99: figure(load.p99Ms, ' ms', otherLoad?.p99Ms),
    rate: figure(load.perSecond, '/s', otherLoad?.perSecond),
    CPU: figure(load.cpuMs, ' ms', otherLoad?.cpuMs),
    value: '',
  }
}

function figure(value: number, unit: string, other: number | undefined): string {
  if (Number.isNaN(value)) return ''
  const own = `${rounded(value)}${unit}`
  if (other === undefined || Number.isNaN(other)) return own
  return `${own}, was ${rounded(other)}: × ${(value / other).toFixed(2)}`
}

/** Digits that mean something: none after the point from 100 on. */
function rounded(value: number): string {
  return Number(value.toFixed(value >= 100 ? 0 : 2)).toLocaleString('en')
}
