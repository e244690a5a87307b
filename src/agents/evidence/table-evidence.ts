/** Statements over tables whose rows an answer uses. */
import type { StatementRows } from '../../core/domain/agents/completion-event.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AGENT_LIMITS, byteSize } from '../agent-limits.ts'
import type { FirstRows } from '../data/observation.ts'

/** Per answer, the last ones first. */
const EVIDENCE_STATEMENTS_MAX = 5
/** Rows of one of them as JSON. */
const EVIDENCE_BYTES_MAX = 65_536

/** Rows a statement showed the model that are not chunks. */
export type ShownRows = Omit<StatementRows, 'is_cut'> & { readonly isCut: boolean }

/** The statements with a value that appears in the answer; if there are none, the last one. */
export function statementsOf(
  answer: string,
  shown: readonly ShownRows[],
): readonly StatementRows[] {
  const withRows = shown.filter(({ data }) => data.length > 0)
  const said = saidIn(answer)
  const used = withRows.filter(({ data }) =>
    data.some((row) => row.some((cell) => isSaid(cell, said))),
  )
  const chosen = used.length > 0 ? used.slice(-EVIDENCE_STATEMENTS_MAX) : withRows.slice(-1)
  const bySql = new Map(chosen.map((one) => [one.sql, one]))
  return [...bySql.values()].map(bounded)
}

function bounded({ sql, column_names, data, isCut }: ShownRows): StatementRows {
  let left = EVIDENCE_BYTES_MAX
  const kept = data.filter((row) => {
    left -= left < 0 ? 0 : byteSize(JSON.stringify(row))
    return left >= 0
  })
  return { sql, column_names, data: kept, is_cut: isCut || kept.length < data.length }
}

interface Said {
  readonly text: string
  readonly numbers: ReadonlySet<number>
}

function saidIn(answer: string): Said {
  const numbers = (answer.match(/\d[\d.,'’\u00a0\u202f]{0,60}/g) ?? []).flatMap((written) => {
    const plain = written.replaceAll(/['’\u00a0\u202f]/g, '').replace(/[.,]+$/, '')
    // 1,234.5 and 1.234,5 and 0,5.
    return [plain.replaceAll(',', ''), plain.replaceAll('.', '').replace(',', '.')].map(Number)
  })
  return { text: answer.toLowerCase(), numbers: new Set(numbers.filter(Number.isFinite)) }
}

const TEXT_CHARS_MIN = 3

function isSaid(cell: ResultValue, { text, numbers }: Said): boolean {
  const number = typeof cell === 'string' && /^-?\d+(?:\.\d+)?$/.test(cell) ? Number(cell) : cell
  if (typeof number === 'number') {
    const size = Math.abs(number)
    return [size, ...[0, 1, 2, 3].map((digits) => Number(size.toFixed(digits)))].some((one) =>
      numbers.has(one),
    )
  }
  if (typeof cell !== 'string' || cell.length < TEXT_CHARS_MIN) return false
  return text.includes(cell.toLowerCase())
}

/** The rows of the last statement that a model ran, for agents whose answer they are. */
export class FinalRows {
  #order = 0
  #result: StatementRows | null = null

  get result(): StatementRows | null {
    return this.#result
  }

  /** @param order of the statements, which run in parallel: the last request counts */
  offer(order: number, sql: string, { columns, rows, hasMore }: FirstRows): void {
    if (order < this.#order) return
    let left: number = AGENT_LIMITS.finalBytesMax
    const tooMany = rows.findIndex((row) => {
      left -= byteSize(JSON.stringify(row))
      return left < 0
    })
    const data = tooMany === -1 ? rows : rows.slice(0, tooMany)
    this.#order = order
    this.#result = { sql, column_names: columns, data, is_cut: hasMore || tooMany !== -1 }
  }
}
