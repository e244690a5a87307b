import { nameKey, quote } from '../../core/domain/identifier.ts'
import { AppError } from '../../core/errors.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import { runComposedSelect } from '../select/views.ts'
import { ANSWER_COLUMNS, type AnswerColumn, type AnswerRow } from './answer-table.ts'
import {
  checkTargetColumns,
  evaluationTable,
  selectOfRows,
  type TableTarget,
} from './evaluation-table.ts'

/** A crash loses the answers of so long at most. */
const WRITE_EVERY_MS = 1000

const ANSWER_NAMES = Object.keys(ANSWER_COLUMNS)

/** The answers of one run in a table of a project, which grows while questions are asked. */
export class SavedAnswers {
  readonly #target: TableTarget
  readonly #deps: QueryDeps
  #pending: AnswerRow[] = []
  #writing: Promise<void> | null = null
  #lastMs: number

  /** @throws AppError `invalid_request` where there is a table without these columns */
  constructor(target: TableTarget, deps: QueryDeps) {
    checkTargetColumns(target, evaluationTable(ANSWER_COLUMNS, []).columns, deps)
    this.#target = target
    this.#deps = deps
    this.#lastMs = deps.nowMs()
  }

  /** What is there of a run, by the keys of the rows. */
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
        // The columns are those of NAMES.
        found.set(String(row.row_key), row as Record<AnswerColumn, (typeof values)[number]>)
      }
    }
    return found
  }

  /** Kept within a second or so; waits where it is this caller's turn to write. @throws AppError as the write fails */
  async add(row: AnswerRow): Promise<void> {
    this.#pending.push(row)
    const isDue = this.#deps.nowMs() - this.#lastMs >= WRITE_EVERY_MS
    if (isDue && this.#writing === null) await this.flush()
  }

  /** @throws AppError as the write fails */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing
    const rows = this.#pending
    if (rows.length === 0) return
    this.#pending = []
    this.#lastMs = this.#deps.nowMs()
    this.#writing = this.#write(rows)
    try {
      await this.#writing
    } finally {
      this.#writing = null
    }
  }

  /** Not ended by the caller's going away: what was answered is kept. */
  async #write(rows: readonly AnswerRow[]): Promise<void> {
    const { tables } = this.#deps
    const select = selectOfRows(evaluationTable(ANSWER_COLUMNS, rows))
    const replaced = { column: 'row_key', values: rows.map((row) => String(row.row_key)) }
    const { signal } = new AbortController()
    const limits = runLimits(this.#deps)
    await tables.whileLocked(this.#target, limits, signal, () => {
      return tables.appendRows({ ...this.#target, select, replaced }, limits, signal)
    })
  }
}

/** @throws AppError `invalid_request`: answers of two settings under one name would be compared with nothing */
export function refuseOtherSettings(
  saved: Iterable<AnswerRow>,
  settingKeys: ReadonlyMap<string, string>,
  run: string,
): void {
  for (const { setting, setting_key: key } of saved) {
    const wanted = settingKeys.get(String(setting))
    if (wanted === undefined || wanted === key) continue
    const what = `Run '${run}' was begun with other settings: the agent, or what this run changes of it, is another now`
    throw new AppError(
      'invalid_request',
      `${what}. Give this one another name, as in run = '${run} 2'`,
    )
  }
}
