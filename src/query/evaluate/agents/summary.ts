import type { ResultValue } from '../../../domain/query-result.ts'
import { pairedComparison, wilsonInterval } from '../../../evaluation/proportions.ts'
import { type EvaluationTable, evaluationTable } from '../evaluation-table.ts'
import type { AnswerColumn, AnswerRow } from './answer-table.ts'

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

/** A row for each setting; the second one has the comparison of both. */
export function summaryTable(settings: readonly (readonly AnswerRow[])[]): EvaluationTable {
  const [first = []] = settings
  const rows = settings.map((rows, index) => {
    return { ...summaryOf(rows), ...(index === 0 ? NOT_COMPARED : comparisonOf(first, rows)) }
  })
  return evaluationTable(SUMMARY_COLUMNS, rows)
}

type Comparison = Pick<SummaryRow, 'wins' | 'losses' | 'ties' | 'p_value'>

const NOT_COMPARED: Comparison = { wins: null, losses: null, ties: null, p_value: null }

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

function summaryOf(rows: readonly AnswerRow[]): Omit<SummaryRow, keyof Comparison> {
  const answered = rows.filter(({ error }) => error === null)
  const numbers = (column: AnswerColumn) => {
    return answered.map((row) => row[column]).filter((value) => typeof value === 'number')
  }
  const share = (column: AnswerColumn, among = answered) => {
    const values = among.map((row) => row[column]).filter((value) => typeof value === 'boolean')
    return mean(values.map(Number))
  }
  const judged = answered.filter(({ correct }) => correct !== null)
  const correct = judged.filter((row) => row.correct === true).length
  const interval = wilsonInterval(correct, judged.length)
  const seconds = numbers('seconds').toSorted((a, b) => a - b)
  const isAnswerable = (row: AnswerRow) => row.expected !== null || row.document_id !== null
  const cited = answered.filter((row) => row.cited !== null)
  return {
    run: rows[0]?.run ?? null,
    agent: rows[0]?.agent ?? null,
    setting: rows[0]?.setting ?? null,
    questions: rows.length,
    answered: answered.length,
    failed: rows.length - answered.length,
    judged: judged.length,
    judge_failures: answered.filter((row) => row.judge_error !== null).length,
    correct,
    accuracy: judged.length === 0 ? null : correct / judged.length,
    accuracy_low: interval?.low ?? null,
    accuracy_high: interval?.high ?? null,
    exact: share('exact'),
    contains: share('contains'),
    cited: share('cited'),
    cited_first: mean(cited.map((row) => Number(row.cited_rank === 1))),
    not_found: share('not_found'),
    wrongly_not_found: share('said_not_found', answered.filter(isAnswerable)),
    score: mean(numbers('score')),
    seconds_mean: mean(seconds),
    seconds_p50: quantile(seconds, 0.5),
    seconds_p95: quantile(seconds, 0.95),
    input_tokens: sum(numbers('input_tokens')),
    output_tokens: sum(numbers('output_tokens')),
    cost: sum(numbers('cost')),
  }
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((all, value) => all + value, 0) / values.length
}

/** null: nothing is known. */
function sum(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((all, value) => all + value, 0)
}

/** The nearest rank. @param values sorted */
function quantile(values: readonly number[], share: number): number | null {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? null
}
