import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import { type Columns, type EvaluationTable, tableOf } from './evaluation-table.ts'
import { type PairedComparison, pairedComparison, wilsonInterval } from './retrieval-metrics.ts'
import type { AnswerRow } from './saved-answers.ts'

interface Summary {
  readonly tally: Tally
  /** The comparison with the first setting; null for the first setting itself. */
  readonly comparison: Comparison | null
}

const SUMMARY_COLUMNS: Columns<Summary> = {
  run: ['VARCHAR', ({ tally }) => tally.first?.run ?? null],
  agent: ['VARCHAR', ({ tally }) => tally.first?.agent ?? null],
  setting: ['VARCHAR', ({ tally }) => tally.first?.setting ?? null],
  questions: ['BIGINT', ({ tally }) => tally.questions],
  answered: ['BIGINT', ({ tally }) => tally.answered],
  failed: ['BIGINT', ({ tally }) => tally.questions - tally.answered],
  judged: ['BIGINT', ({ tally }) => tally.of('correct').count],
  judge_failures: ['BIGINT', ({ tally }) => tally.judgeFailures],
  correct: ['BIGINT', ({ tally }) => tally.of('correct').total ?? 0],
  accuracy: ['DOUBLE', ({ tally }) => tally.of('correct').mean],
  accuracy_low: ['DOUBLE', ({ tally }) => tally.interval?.low ?? null],
  accuracy_high: ['DOUBLE', ({ tally }) => tally.interval?.high ?? null],
  exact: ['DOUBLE', ({ tally }) => tally.of('exact').mean],
  contains: ['DOUBLE', ({ tally }) => tally.of('contains').mean],
  cited: ['DOUBLE', ({ tally }) => tally.of('cited').mean],
  cited_first: ['DOUBLE', ({ tally }) => tally.citedFirst.mean],
  not_found: ['DOUBLE', ({ tally }) => tally.of('not_found').mean],
  wrongly_not_found: ['DOUBLE', ({ tally }) => tally.wronglyNotFound.mean],
  score: ['DOUBLE', ({ tally }) => tally.of('score').mean],
  seconds_mean: ['DOUBLE', ({ tally }) => tally.of('seconds').mean],
  seconds_p50: ['DOUBLE', ({ tally }) => quantile(tally.seconds, 0.5)],
  seconds_p95: ['DOUBLE', ({ tally }) => quantile(tally.seconds, 0.95)],
  input_tokens: ['BIGINT', ({ tally }) => tally.of('input_tokens').total],
  output_tokens: ['BIGINT', ({ tally }) => tally.of('output_tokens').total],
  cost: ['DOUBLE', ({ tally }) => tally.of('cost').total],
  wins: ['BIGINT', ({ comparison }) => comparison?.wins ?? null],
  losses: ['BIGINT', ({ comparison }) => comparison?.losses ?? null],
  ties: ['BIGINT', ({ comparison }) => comparison?.ties ?? null],
  p_value: ['DOUBLE', ({ comparison }) => comparison?.pValue ?? null],
}

/** One row per setting. Yields to other work: there may be thousands of answers. */
export async function summaryTable(
  settings: readonly (readonly AnswerRow[])[],
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const slice = new TimeSlice(10)
  const [first = []] = settings
  const summaries: Summary[] = []
  for (const [index, rows] of settings.entries()) {
    const tally = new Tally()
    for (const row of rows) {
      tally.add(row)
      await slice.yieldIfSpent(signal)
    }
    summaries.push({ tally, comparison: index === 0 ? null : comparisonOf(first, rows) })
  }
  return tableOf(SUMMARY_COLUMNS, summaries)
}

interface Comparison extends Omit<PairedComparison, 'pValue'> {
  /** Null if no question can be compared. */
  readonly pValue: number | null
}

/** Compares only the questions that both settings answered and that were judged. */
function comparisonOf(first: readonly AnswerRow[], second: readonly AnswerRow[]): Comparison {
  const pairs = first.flatMap(({ correct: before }, index) => {
    const after = second[index]?.correct
    return typeof before === 'boolean' && typeof after === 'boolean'
      ? [[before, after] as const]
      : []
  })
  const compared = pairedComparison(pairs)
  return pairs.length === 0 ? { ...compared, pValue: null } : compared
}

class Sum {
  #sum = 0
  #count = 0

  add(value: unknown): void {
    if (typeof value !== 'number' && typeof value !== 'boolean') return
    this.#sum += Number(value)
    this.#count += 1
  }

  get count(): number {
    return this.#count
  }

  get total(): number | null {
    return this.#count === 0 ? null : this.#sum
  }

  get mean(): number | null {
    return this.#count === 0 ? null : this.#sum / this.#count
  }
}

const SUMMED = [
  'correct',
  'exact',
  'contains',
  'cited',
  'not_found',
  'score',
  'seconds',
  'input_tokens',
  'output_tokens',
  'cost',
] as const

class Tally {
  first: AnswerRow | null = null
  questions = 0
  answered = 0
  judgeFailures = 0
  readonly citedFirst = new Sum()
  readonly wronglyNotFound = new Sum()
  readonly #seconds: number[] = []
  readonly #sums = new Map(SUMMED.map((column) => [column, new Sum()]))

  add(row: AnswerRow): void {
    this.first ??= row
    this.questions += 1
    if (row.error !== null) return
    this.answered += 1
    if (row.judge_error !== null) this.judgeFailures += 1
    if (row.cited !== null) this.citedFirst.add(row.cited_rank === 1)
    const isAnswerable = row.expected !== null || row.document_id !== null
    if (isAnswerable) this.wronglyNotFound.add(row.said_not_found)
    if (typeof row.seconds === 'number') this.#seconds.push(row.seconds)
    for (const [column, sum] of this.#sums) sum.add(row[column])
  }

  of(column: (typeof SUMMED)[number]): Sum {
    return this.#sums.get(column) ?? new Sum()
  }

  get interval() {
    const { total, count } = this.of('correct')
    return wilsonInterval(total ?? 0, count)
  }

  /** Sorted. */
  get seconds(): readonly number[] {
    return this.#seconds.toSorted((one, other) => one - other)
  }
}

/** The nearest-rank quantile. @param values sorted in ascending order */
function quantile(values: readonly number[], share: number): number | null {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? null
}
