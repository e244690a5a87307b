import { createHash } from 'node:crypto'
import type { ResultValue } from '../../core/domain/query-result.ts'
import type { GoldenQuestion } from './question-set.ts'

/** A row for each question and setting, as it is returned and kept. */
export const ANSWER_COLUMNS = {
  run: 'VARCHAR',
  agent: 'VARCHAR',
  setting: 'VARCHAR',
  position: 'BIGINT',
  id: 'VARCHAR',
  question: 'VARCHAR',
  expected: 'VARCHAR',
  document_id: 'VARCHAR',
  answer: 'VARCHAR',
  correct: 'BOOLEAN',
  exact: 'BOOLEAN',
  contains: 'BOOLEAN',
  cited: 'BOOLEAN',
  cited_rank: 'BIGINT',
  not_found: 'BOOLEAN',
  said_not_found: 'BOOLEAN',
  score: 'DOUBLE',
  reason: 'VARCHAR',
  citations: 'VARCHAR',
  input_tokens: 'BIGINT',
  output_tokens: 'BIGINT',
  cost: 'DOUBLE',
  seconds: 'DOUBLE',
  trace_id: 'VARCHAR',
  error: 'VARCHAR',
  judge_error: 'VARCHAR',
  row_key: 'VARCHAR',
  setting_key: 'VARCHAR',
  judge_key: 'VARCHAR',
  created_at: 'TIMESTAMP',
} as const

export type AnswerColumn = keyof typeof ANSWER_COLUMNS

export type AnswerRow = Readonly<Record<AnswerColumn, ResultValue>>

/** The first setting, and the one that is compared with it. */
export type SettingName = 'base' | 'compare'

/** The columns that say which answer a row is of, before there is one. */
export interface AnswerPlace {
  readonly run: string
  readonly agent: string
  readonly setting: SettingName
  readonly settingKey: string
  readonly question: GoldenQuestion
  /** Tells this row from all others of a table, and is the same in each statement of a run. */
  readonly rowKey: string
}

/** Tells apart equal questions of one set: the second of them is another row than the first. */
export class RowKeys {
  readonly #counts = new Map<string, number>()

  keyOf(run: string, agent: string, setting: SettingName, question: GoldenQuestion): string {
    const { id, question: text, accepted, documentIds, knowledgeBase } = question
    const same = digest([run, agent, setting, id, text, accepted, documentIds, knowledgeBase])
    const count = this.#counts.get(same) ?? 0
    this.#counts.set(same, count + 1)
    return count === 0 ? same : digest([same, count])
  }
}

/** Short, and as good as distinct. */
export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24)
}

/** One text as it is, several as JSON. */
export function shownList(texts: readonly string[]): string | null {
  const [only = null, ...others] = texts
  return others.length === 0 ? only : JSON.stringify(texts)
}

// Its names are those of the columns.
const NO_ANSWER = Object.fromEntries(
  Object.keys(ANSWER_COLUMNS).map((name) => [name, null]),
) as Record<AnswerColumn, null>

/** A row without an answer. */
export function emptyRow(place: AnswerPlace): AnswerRow {
  const { run, agent, setting, settingKey, question, rowKey } = place
  return {
    ...NO_ANSWER,
    run,
    agent,
    setting,
    position: question.position,
    id: question.id,
    question: question.question,
    expected: shownList(question.accepted),
    document_id: shownList(question.documentIds),
    row_key: rowKey,
    setting_key: settingKey,
  }
}
