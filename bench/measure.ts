/** The results of a scenario, and how they are printed: one row each, with or without a second checkout. */
import { textTable } from '../scripts/text-table.ts'

export type Measure =
  | { readonly what: string; readonly value: number; readonly unit: string }
  | { readonly what: string; readonly load: LoadFigures }

/** The figures for one kind of request. */
export interface LoadFigures {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
  /** The server's processor time for one request, or NaN if it is unknown. */
  readonly cpuMs: number
}

type Cells = Readonly<Record<'p50' | 'p99' | 'rate' | 'CPU' | 'value', string>>

const COLUMNS = ['measure', 'p50', 'p99', 'rate', 'CPU per request', 'value'] as const

export interface Printed {
  readonly columnNames: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** @param others the other checkout's results; each figure is then followed by its ratio to the other's */
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

/** Rounds to significant digits, without decimals from 100 on. */
function rounded(value: number): string {
  return Number(value.toFixed(value >= 100 ? 0 : 2)).toLocaleString('en')
}
