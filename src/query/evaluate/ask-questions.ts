import type { Agent } from '../../core/domain/agents/agent.ts'
import type { Citation } from '../../core/domain/agents/completion-event.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { mapConcurrent, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { type Judges, judgeAnswer, type ShownCitation } from './judge-answer.ts'
import type { GoldenQuestion } from './question-set.ts'
import type { AnswerRow, SavedAnswers } from './saved-answers.ts'

export interface AskedQuestion {
  readonly question: GoldenQuestion
  /** The agent with the changes of the setting to test. */
  readonly agent: Agent
  /** What an earlier statement of the same run stored, or a row without an answer. */
  readonly row: AnswerRow
}

interface AskingWork {
  readonly asked: readonly AskedQuestion[]
  readonly judges: Judges & { readonly key: string }
  readonly concurrency: number
  readonly saved: SavedAnswers | null
  /** Called with each answer. */
  readonly progress?: EvaluationProgress | undefined
}

export interface EvaluationProgress {
  /** @param total the number of questions, each counted once per setting */
  answered(row: AnswerRow, total: number): Promise<void>
}

/** In order. Answers and judgments of this run are not repeated. @throws AppError on writes */
export async function askQuestions(
  { asked, judges, concurrency, saved, progress }: AskingWork,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly AnswerRow[]> {
  const slice = new TimeSlice(10)
  const bounds = { concurrencyMax: concurrency, signal }
  try {
    const rows = await mapConcurrent(asked, bounds, async (one, lane) => {
      await slice.yieldIfSpent(lane)
      let { row } = one
      if (!isComplete(row, judges.key)) {
        if (row.created_at === null || row.error !== null) row = await askedRow(one, deps, lane)
        if (row.error === null) row = await judgedRow(one.question, row, judges, lane)
        await saved?.add(row)
      }
      await progress?.answered(row, asked.length)
      return row
    })
    await saved?.flush()
    return rows
  } catch (error) {
    // Report only the first failure.
    await saved?.flush().catch(() => {})
    throw error
  }
}

function isComplete({ error, judge_error, judge_key }: AnswerRow, judgeKey: string): boolean {
  return error === null && judge_error === null && judge_key === judgeKey
}

/** Most failures become part of the row. @throws AppError `shutting_down`, or the signal's */
async function askedRow(
  { question, agent, row: before }: AskedQuestion,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<AnswerRow> {
  const row = { ...before, error: null, created_at: timestampOfMillis(Date.now()) }
  try {
    const answer = await deps.agents.ask(agent, question.question, signal, 'evaluation')
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
  question: GoldenQuestion,
  row: AnswerRow,
  judges: AskingWork['judges'],
  signal: AbortSignal,
): Promise<AnswerRow> {
  const answer = { content: String(row.answer ?? ''), citations: citationsIn(row.citations) }
  const verdicts = await judgeAnswer(question, answer, judges, signal)
  return { ...row, ...verdicts, judge_key: judges.key }
}

function shownCitation({ knowledge_base, document_id, chunk_id, text }: Citation): ShownCitation {
  return { knowledge_base, document_id, chunk_id, text }
}

/** From a stored row, which a user may have edited. @throws AppError `invalid_request` */
function citationsIn(text: unknown): readonly ShownCitation[] {
  if (typeof text !== 'string') return []
  const list = parsedJson(text)
  if (Array.isArray(list) && list.every(isShownCitation)) return list
  const message = 'The column citations of a saved answer was changed and cannot be read'
  throw new AppError('invalid_request', message)
}

function isShownCitation(value: unknown): value is ShownCitation {
  const names = ['knowledge_base', 'document_id', 'chunk_id', 'text']
  return isObject(value) && names.every((name) => typeof value[name] === 'string')
}
