import { createHash } from 'node:crypto'
import { nameKey, quote } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import { runComposedSelect } from '../select/views.ts'
import { checkTargetColumns, selectOfRows, type TableTarget } from './evaluation-table.ts'
import type { GoldenQuestion } from './question-set.ts'

/** The columns of an answer, as returned and stored: one row per question and setting. */
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

type AnswerColumn = keyof typeof ANSWER_COLUMNS

export type AnswerRow = Readonly<Record<AnswerColumn, ResultValue>>

/** The first setting, or the one compared with it. */
export type SettingName = 'base' | 'compare'

/** Keys of rows: unique, as equal questions are numbered, and the same in each statement of a run. */
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

/** A short hash that is unique in practice. */
export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24)
}

/** A single text unchanged, several as JSON. */
function shownList(texts: readonly string[]): string | null {
  const [only = null, ...others] = texts
  return others.length === 0 ? only : JSON.stringify(texts)
}

// Its keys are the column names.
const NO_ANSWER = Object.fromEntries(
  Object.keys(ANSWER_COLUMNS).map((name) => [name, null]),
) as Record<AnswerColumn, null>

/** A question that was not asked yet. @param place the columns that identify its answer */
export function emptyRow(
  place: Pick<AnswerRow, 'run' | 'agent' | 'setting' | 'setting_key' | 'row_key'>,
  { position, id, question, accepted, documentIds }: GoldenQuestion,
): AnswerRow {
  const expected = { expected: shownList(accepted), document_id: shownList(documentIds) }
  return { ...NO_ANSWER, ...place, position, id, question, ...expected }
}

/** How often to write. A crash loses at most the answers of this period. */
const WRITE_EVERY_MS = 1000

const ANSWER_NAMES = Object.keys(ANSWER_COLUMNS)

/** Stores the answers of one run in a project table while questions are being asked. */
export class SavedAnswers {
  readonly #target: TableTarget
  readonly #deps: QueryDeps
  readonly #pending: AnswerRow[] = []
  readonly #writes = new SerialQueue()
  #lastMs: number

  /** @throws AppError `invalid_request` if the table lacks one of the columns */
  constructor(target: TableTarget, deps: QueryDeps) {
    checkTargetColumns(target, ANSWER_NAMES, deps)
    this.#target = target
    this.#deps = deps
    this.#lastMs = deps.nowMs()
  }

  async rowsOf(
    run: string,
    agent: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, AnswerRow>> {
    const { projectId, name } = this.#target
    const table = this.#deps.catalog.snapshot().tables.find((one) => {
      return one.projectId === projectId && nameKey(one.name) === nameKey(name)
    })
    const found = new Map<string, AnswerRow>()
    if (table === undefined) return found
    const sql = `SELECT ${ANSWER_NAMES.map(quote).join(', ')} FROM ${quote(table.projectName)}.${quote(table.name)}
      WHERE run = :run AND agent = :agent`
    const request = { sql, database: table.projectName, params: { run, agent } }
    const { batches } = await runComposedSelect(request, this.#deps, signal)
    for await (const rows of batches) {
      for (const values of rows) {
        const row = Object.fromEntries(
          ANSWER_NAMES.map((column, at) => [column, values[at] ?? null]),
        )
        // The columns are those of NAMES, so the type is right.
        found.set(String(row.row_key), row as Record<AnswerColumn, (typeof values)[number]>)
      }
    }
    return found
  }

  /** Within about a second. While a write is running, waits. @throws errors of the write */
  async add(row: AnswerRow): Promise<void> {
    this.#pending.push(row)
    const isDue = this.#deps.nowMs() - this.#lastMs >= WRITE_EVERY_MS
    if (isDue && this.#writes.isIdle) await this.flush()
  }

  /** @throws AppError errors of the write */
  flush(): Promise<void> {
    return this.#writes.run(async () => {
      const rows = this.#pending.splice(0)
      if (rows.length === 0) return
      this.#lastMs = this.#deps.nowMs()
      await this.#write(rows)
    })
  }

  /** Completes even if the client disconnects, so that answers are kept. */
  async #write(rows: readonly AnswerRow[]): Promise<void> {
    const { tables } = this.#deps
    const select = selectOfRows({ types: ANSWER_COLUMNS, rows })
    const replaced = { column: 'row_key', values: rows.map((row) => String(row.row_key)) }
    const { signal } = new AbortController()
    const limits = runLimits(this.#deps)
    await tables.whileLocked(this.#target, limits, signal, () => {
      return tables.appendRows({ ...this.#target, select, replaced }, limits, signal)
    })
  }
}

/** @throws AppError `invalid_request`: answers with other settings cannot be compared */
export function refuseOtherSettings(
  saved: Iterable<AnswerRow>,
  settingKeys: ReadonlyMap<string, string>,
  run: string,
): void {
  for (const { setting, setting_key: key } of saved) {
    const wanted = settingKeys.get(String(setting))
    if (wanted === undefined || wanted === key) continue
    const what = `Run '${run}' was begun with other settings: the agent, or what this run changes of it, is another now`
    const message = `${what}. Give this one another name, as in run = '${run} 2'`
    throw new AppError('invalid_request', message)
  }
}
