/** Converts an agent run to rows of the trace tables, and back. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core'
import type { FinishedRun, ModelTurn, ToolStep } from '../../core/domain/agents/completion-event.ts'
import { literal } from '../../core/domain/names.ts'
import type {
  Feedback,
  StoredTrace,
  TraceSummary,
} from '../../core/domain/ports/conversation-ports.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { traceSteps, traces } from '../catalog/schema.ts'

type TraceRow = typeof traces.$inferSelect
type StepRow = typeof traceSteps.$inferSelect

export interface TraceRows {
  readonly trace: TraceRow
  readonly steps: readonly StepRow[]
}

export function rowsOfRun(run: FinishedRun, number: number): TraceRows {
  const { startedAtMs, endedAtMs, turns, steps, usage, traceParent: _, ...plain } = run
  const own = { traceNumber: number, traceId: run.traceId }
  const stepRows = [
    ...turns.map((turn) => ({ ...NO_TOOL, ...turnCells(turn), ...own })),
    ...steps.map((step) => ({ ...NO_TURN, ...step, kind: 'tool' as const, ...own })),
  ]
    .sort((one, other) => one.startMs - other.startMs)
    .map((row, index) => ({ ...row, number: index + 1 }))
  const trace: Omit<TraceRow, 'byteCount'> = {
    ...plain,
    number,
    startedAt: timestampOfMillis(startedAtMs),
    endedAt: timestampOfMillis(endedAtMs),
    tookMs: Math.max(0, endedAtMs - startedAtMs),
    turnCount: turns.length,
    stepCount: steps.length,
    inputTokens: usage?.inputTokens ?? null,
    outputTokens: usage?.outputTokens ?? null,
    cachedTokens: usage?.cachedTokens ?? null,
  }
  const byteCount = rowBytes([trace, ...stepRows])
  return { trace: { ...trace, byteCount }, steps: stepRows }
}

const NO_TOOL = { tool: null, input: null, observation: null }

const NO_TURN = {
  reasoning: null,
  firstPieceMs: null,
  finish: null,
  callCount: null,
  inputTokens: null,
  outputTokens: null,
  cachedTokens: null,
}

function turnCells({ usage, ...turn }: ModelTurn) {
  return {
    ...turn,
    kind: 'turn' as const,
    inputTokens: usage?.inputTokens ?? null,
    outputTokens: usage?.outputTokens ?? null,
    cachedTokens: usage?.cachedTokens ?? null,
  }
}

/** The estimated size of a row without its texts. */
const ROW_BYTES = 100

function rowBytes(rows: readonly object[]): number {
  let count = 0
  for (const row of rows) {
    count += ROW_BYTES
    for (const value of Object.values(row)) {
      if (typeof value === 'string') count += Buffer.byteLength(value)
      else if (typeof value === 'object' && value !== null) count += JSON.stringify(value).length
    }
  }
  return count
}

/** Within a write, as one JSON text, which DuckDB reads faster than many parameters. */
export async function insertRows(
  connection: DuckDBConnection,
  table: PgTable,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  if (rows.length === 0) return
  const { schema, name, columns } = getTableConfig(table)
  const types = Object.fromEntries(columns.map((one) => [one.name, duckdbType(one.getSQLType())]))
  // In a Drizzle row, the keys are the TypeScript names of the columns.
  const keys = Object.entries(table).flatMap(([key, column]) => {
    const found = columns.find((one) => one === column)
    return found === undefined ? [] : [[key, found.name] as const]
  })
  const records = rows.map((row) => {
    return Object.fromEntries(keys.map(([key, column]) => [column, row[key] ?? undefined]))
  })
  await connection.run(
    `INSERT INTO ${schema}.${name} BY NAME
      SELECT unnest(from_json($1::VARCHAR, ${literal(JSON.stringify([types]))}), recursive := true)`,
    [JSON.stringify(records, (_key, value) => storable(value))],
  )
}

/** Makes text valid for DuckDB: a lone surrogate would make the whole write fail. */
function storable(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD').toWellFormed() : value
}

function duckdbType(sqlType: string): string {
  if (sqlType === 'double precision') return 'DOUBLE'
  return sqlType.startsWith('timestamp') ? 'TIMESTAMP' : sqlType.toUpperCase()
}

/** Call within the write that drops a project, whose traces contain texts of its documents. */
export async function deleteTracesOf(
  connection: DuckDBConnection,
  projectId: number,
): Promise<void> {
  const own = `SELECT trace_id FROM eider.traces WHERE project_id = ${projectId}`
  await connection.run(`DELETE FROM eider.trace_steps WHERE trace_id IN (${own})`)
  await connection.run(`DELETE FROM eider.trace_feedback WHERE trace_id IN (${own})`)
  await connection.run(`DELETE FROM eider.traces WHERE project_id = ${projectId}`)
}

type FeedbackCells = { readonly rating: number | null; readonly comment: string | null } & {
  readonly ratedAt: string | null
}

/** The columns shown in a list of runs. */
export type SummaryRow = Omit<
  TraceRow,
  | 'answer'
  | 'citations'
  | 'warnings'
  | 'evidence'
  | 'errorMessage'
  | 'byteCount'
  | 'projectId'
  | 'agentId'
>

export function summaryOf(row: SummaryRow, feedback: FeedbackCells): TraceSummary {
  const { inputTokens, outputTokens, cachedTokens, number: _, ...plain } = row
  return {
    ...plain,
    usage: storedUsage({ inputTokens, outputTokens, cachedTokens }),
    feedback: feedbackOf(feedback),
  }
}

export function traceOf({ trace, steps }: TraceRows, feedback: FeedbackCells): StoredTrace {
  const { byteCount: _, projectId: __, agentId: ___, ...row } = trace
  const { answer, citations, warnings, evidence, errorMessage } = row
  const inOrder = [...steps].sort((one, other) => one.number - other.number)
  return {
    ...summaryOf(row, feedback),
    answer,
    errorMessage,
    citations,
    warnings,
    evidence,
    turns: inOrder.filter(({ kind }) => kind === 'turn').map(turnOf),
    steps: inOrder.filter(({ kind }) => kind === 'tool').map(stepOf),
  }
}

function turnOf(row: StepRow): ModelTurn {
  return {
    startMs: row.startMs,
    tookMs: row.tookMs,
    firstPieceMs: row.firstPieceMs,
    finish: row.finish ?? 'stop',
    usage: storedUsage(row),
    reasoning: row.reasoning ?? '',
    callCount: row.callCount ?? 0,
  }
}

function stepOf({ startMs, tookMs, tool, input, observation }: StepRow): ToolStep {
  return { startMs, tookMs, tool: tool ?? '', input: input ?? '', observation: observation ?? '' }
}

function storedUsage(row: Pick<StepRow, 'inputTokens' | 'outputTokens' | 'cachedTokens'>) {
  const { inputTokens, outputTokens, cachedTokens } = row
  if (inputTokens === null || outputTokens === null) return null
  return { inputTokens, outputTokens, cachedTokens: cachedTokens ?? 0 }
}

function feedbackOf({ rating, comment, ratedAt }: FeedbackCells): Feedback | null {
  return rating === null || ratedAt === null ? null : { rating, comment, createdAt: ratedAt }
}
