import type { Agent } from '../../core/domain/agents/agent.ts'
import type { Citation } from '../../core/domain/agents/completion-event.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { mapConcurrent, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { type Judges, judgeAnswer, type ShownCitation } from './judge-answer.ts'
import type { SavedAnswers } from './saved-answers.ts'
import { type AnswerPlace, type AnswerRow, emptyRow } from './saved-answers.ts'

export interface AskedQuestion {
  readonly place: AnswerPlace
  /** Including its setting's changes. */
  readonly agent: Agent
  /** From an earlier statement of the run. */
  readonly known: AnswerRow | null
}

export interface AskingWork {
  readonly asked: readonly AskedQuestion[]
  readonly judges: Judges & { readonly key: string }
  readonly concurrency: number
  /** null: answers are not stored. */
  readonly saved: SavedAnswers | null
  /** Called with each answer, if set. */
  readonly progress?: EvaluationProgress | undefined
}

export interface EvaluationProgress {
  /** @param total questions that there are, each counted once for each setting */
  answered(row: AnswerRow, total: number): Promise<void>
}

/**
 * A row per question, in order. Questions the run has already answered are not asked again, and judged answers not judged
 * again.
 * @throws AppError if a write fails or the caller leaves; answers until then are kept
 */
export async function askQuestions(
  { asked, judges, concurrency, saved, progress }: AskingWork,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly AnswerRow[]> {
  const slice = new TimeSlice(10)
  const bounds = { concurrencyMax: concurrency, signal }
  try {
    const rows = await mapConcurrent(asked, bounds, async (question, lane) => {
      await slice.yieldIfSpent(lane)
      const { known, place } = question
      if (known !== null && isComplete(known, judges.key)) {
        const row = { ...known, position: place.question.position }
        await progress?.answered(row, asked.length)
        return row
      }
      const answered =
        known !== null && known.error === null ? known : await askedRow(question, deps, lane)
      const row =
        answered.error === null ? await judgedRow(question, answered, judges, lane) : answered
      await saved?.add(row)
      await progress?.answered(row, asked.length)
      return row
    })
    await saved?.flush()
    return rows
  } catch (error) {
    // The first failure is the one to report.
    await saved?.flush().catch(() => {})
    throw error
  }
}

function isComplete({ error, judge_error, judge_key }: AnswerRow, judgeKey: string): boolean {
  return error === null && judge_error === null && judge_key === judgeKey
}

/** @throws AppError `shutting_down`, the signal's reason; any other failure becomes a row */
async function askedRow(
  { place, agent }: AskedQuestion,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<AnswerRow> {
  const row = { ...emptyRow(place), created_at: timestampOfMillis(Date.now()) }
  try {
    const answer = await deps.agents.ask(agent, place.question.question, signal, 'evaluation')
    const { content, citations, usage, cost, seconds, traceId } = answer
    return {
      ...row,
      answer: content,
      citations: JSON.stringify(citations.map(shownCitation)),
      input_tokens: usage?.inputTokens ?? null,
      output_tokens: usage?.outputTokens ?? null,
      cost,
      seconds,
      trace_id: traceId,
    }
  } catch (error) {
    signal.throwIfAborted()
    const { code, message } = toAppError(error)
    if (code === 'shutting_down') throw error
    return { ...row, error: `${code}: ${message}` }
  }
}

async function judgedRow(
  { place }: AskedQuestion,
  row: AnswerRow,
  judges: AskingWork['judges'],
  signal: AbortSignal,
): Promise<AnswerRow> {
  const answer = { content: String(row.answer ?? ''), citations: citationsIn(row.citations) }
  const verdicts = await judgeAnswer(place.question, answer, judges, signal)
  const { position } = place.question
  return { ...row, ...verdicts, position, judge_key: judges.key }
}

function shownCitation({ knowledge_base, document_id, chunk_id, text }: Citation): ShownCitation {
  return { knowledge_base, document_id, chunk_id, text }
}

/** From a row of the evaluation, which its owner may have changed. @throws AppError `invalid_request` */
function citationsIn(text: unknown): readonly ShownCitation[] {
  if (typeof text !== 'string') return []
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list) && list.every(isShownCitation)) return list
  } catch {
    // Told below.
  }
  throw new AppError(
    'invalid_request',
    'The column citations of a saved answer was changed and cannot be read',
  )
}

function isShownCitation(value: unknown): value is ShownCitation {
  const names = ['knowledge_base', 'document_id', 'chunk_id', 'text']
  return isObject(value) && names.every((name) => typeof value[name] === 'string')
}
