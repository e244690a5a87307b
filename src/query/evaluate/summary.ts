import type { ResultValue } from '../../core/domain/query-result.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { AnswerRow } from './answer-table.ts'
import { type EvaluationTable, evaluationTable } from './evaluation-table.ts'
import { pairedComparison, wilsonInterval } from './metrics/proportions.ts'

const SUMMARY_COLUMNS = {
  run: 'VARCHAR',
  agent: 'VARCHAR',
  setting: 'VARCHAR',
  questions: 'BIGINT',
  answered: 'BIGINT',
  failed: 'BIGINT',
  judged: 'BIGINT',
  judge_failures: 'BIGINT',
  correct: 'BIGINT',
  accuracy: 'DOUBLE',
  accuracy_low: 'DOUBLE',
  accuracy_high: 'DOUBLE',
  exact: 'DOUBLE',
  contains: 'DOUBLE',
  cited: 'DOUBLE',
  cited_first: 'DOUBLE',
  not_found: 'DOUBLE',
  wrongly_not_found: 'DOUBLE',
  score: 'DOUBLE',
  seconds_mean: 'DOUBLE',
  seconds_p50: 'DOUBLE',
  seconds_p95: 'DOUBLE',
  input_tokens: 'BIGINT',
  output_tokens: 'BIGINT',
  cost: 'DOUBLE',
  wins: 'BIGINT',
  losses: 'BIGINT',
  ties: 'BIGINT',
  p_value: 'DOUBLE',
} as const

type SummaryRow = Record<keyof typeof SUMMARY_COLUMNS, ResultValue>

type Comparison = Pick<SummaryRow, 'wins' | 'losses' | 'ties' | 'p_value'>

const NOT_COMPARED: Comparison = { wins: null, losses: null, ties: null, p_value: null }

/** A row for each setting; the second one has the comparison of both. Gives way, as there may be thousands of answers. */
export async function summaryTable(
  settings: readonly (readonly AnswerRow[])[],
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const slice = new TimeSlice(10)
  const [first = []] = settings
  const summaries: SummaryRow[] = []
  for (const [index, rows] of settings.entries()) {
    const tally = new Tally()
    for (const row of rows) {
      tally.add(row)
      await slice.yieldIfSpent(signal)
    }
    summaries.push({
      ...tally.summary(),
      ...(index === 0 ? NOT_COMPARED : comparisonOf(first, rows)),
    })
  }
  return evaluationTable(SUMMARY_COLUMNS, summaries)
}

/** Only what both have answered and somebody has judged tells them apart. */
function comparisonOf(first: readonly AnswerRow[], second: readonly AnswerRow[]): Comparison {
  const pairs = first.flatMap(({ correct: before }, index) => {
    const after = second[index]?.correct
    return typeof before === 'boolean' && typeof after === 'boolean'
      ? [[before, after] as const]
      : []
  })
  const { pValue, ...counts } = pairedComparison(pairs)
  return { ...counts, p_value: pairs.length === 0 ? null : pValue }
}

/** A sum over those answers that have the value. */
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

  /** null: nothing is known. */
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

/** Counts the answers of one setting. */
class Tally {
  #first: AnswerRow | null = null
  #questions = 0
  #answered = 0
  #judgeFailures = 0
  readonly #citedFirst = new Sum()
  readonly #wronglyNotFound = new Sum()
  readonly #seconds: number[] = []
  readonly #sums = new Map(SUMMED.map((column) => [column, new Sum()]))

  add(row: AnswerRow): void {
    this.#first ??= row
    this.#questions += 1
    if (row.error !== null) return
    this.#answered += 1
    if (row.judge_error !== null) this.#judgeFailures += 1
    if (row.cited !== null) this.#citedFirst.add(row.cited_rank === 1)
    const isAnswerable = row.expected !== null || row.document_id !== null
    if (isAnswerable) this.#wronglyNotFound.add(row.said_not_found)
    if (typeof row.seconds === 'number') this.#seconds.push(row.seconds)
    for (const [column, sum] of this.#sums) sum.add(row[column])
  }

  summary(): Omit<SummaryRow, keyof Comparison> {
    const of = (column: (typeof SUMMED)[number]) => this.#sums.get(column) ?? new Sum()
    const judged = of('correct').count
    const correct = of('correct').total ?? 0
    const interval = wilsonInterval(correct, judged)
    const seconds = this.#seconds.toSorted((one, other) => one - other)
    return {
      run: this.#first?.run ?? null,
      agent: this.#first?.agent ?? null,
      setting: this.#first?.setting ?? null,
      questions: this.#questions,
      answered: this.#answered,
      failed: this.#questions - this.#answered,
      judged,
      judge_failures: this.#judgeFailures,
      correct,
      accuracy: of('correct').mean,
      accuracy_low: interval?.low ?? null,
      accuracy_high: interval?.high ?? null,
      exact: of('exact').mean,
      contains: of('contains').mean,
      cited: of('cited').mean,
      cited_first: this.#citedFirst.mean,
      not_found: of('not_found').mean,
      wrongly_not_found: this.#wronglyNotFound.mean,
      score: of('score').mean,
      seconds_mean: of('seconds').mean,
      seconds_p50: quantile(seconds, 0.5),
      seconds_p95: quantile(seconds, 0.95),
      input_tokens: of('input_tokens').total,
      output_tokens: of('output_tokens').total,
      cost: of('cost').total,
    }
  }
}

/** The nearest rank. @param values sorted */
function quantile(values: readonly number[], share: number): number | null {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? null
}
