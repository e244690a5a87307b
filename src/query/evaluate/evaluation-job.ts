/**
 * Runs `EVALUATE AGENT … USING background = true` as a job. The statement returns the job's row of
 * information_schema.queries.
 */

import type { Rights } from '../../core/domain/access/principal.ts'
import { NO_PROGRESS } from '../../core/domain/flow/job.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import type { JobWork } from '../../core/domain/ports/job-ports.ts'
import type { QueryResult } from '../../core/domain/query-result.ts'
import { notFound } from '../../core/errors.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { queryRow, variablesIn } from '../rows/background-insert.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { Variables } from '../sessions.ts'
import { type AgentEvaluationRequest, evaluateAgent, preparedEvaluation } from './evaluate-agent.ts'
import type { AnswerRow } from './saved-answers.ts'

/**
 * The statement as the job stores it. It names its run, so the job can continue after a restart.
 */
interface StoredEvaluation extends AgentEvaluationRequest {
  /** The id, because a later agent may have the same name. */
  readonly agentId: number
  /** The rights of the user who started the job, which it never exceeds. */
  readonly rights: Rights | null
  /** The variables of the user's session, which may have ended. */
  readonly variables: Readonly<Record<string, BoundValue>>
}

/** @throws AppError like `evaluateAgent`; `too_busy` if too many jobs wait */
export async function runEvaluateAgent(
  request: AgentEvaluationRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  if (statement.options.background !== true) return evaluateAgent(request, deps, signal)
  const run = statement.options.run ?? timestampOfMillis(Date.now())
  const named = { ...statement, options: { ...statement.options, run } }
  const { agent, options } = await preparedEvaluation({ statement: named, db }, deps)
  const stored: StoredEvaluation = {
    ...request,
    statement: named,
    agentId: agent.id,
    rights: deps.rights ?? null,
    variables: variablesIn(options.questions, deps),
  }
  const job = await deps.jobs.start({
    kind: 'evaluation',
    projectName: agent.projectName,
    knowledgeBase: null,
    title: `EVALUATE AGENT ${agent.name}, run ${options.run}`,
    request: stored,
  })
  return queryRow(job, db, deps, signal)
}

/** Runs the job. @throws AppError like `evaluateAgent`, or `agent_not_found` */
export async function runEvaluationJob(
  work: JobWork,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  // `runEvaluateAgent` created this request, so the type is right.
  const { agentId, variables: kept, rights: _, ...request } = work.request as StoredEvaluation
  const { agent } = await preparedEvaluation(request, deps)
  if (agent.id !== agentId) throw notFound('agent', agent.name)
  const variables = new Variables()
  variables.set(new Map(Object.entries(kept)))
  const progress = markedProgress(work, deps.nowMs)
  await evaluateAgent(request, { ...deps, variables }, signal, progress)
  await progress.mark()
}

const MARK_EVERY_MS = 1000

/** Marks the job's progress about every second. */
function markedProgress(work: JobWork, nowMs: () => number) {
  const marks = new SerialQueue()
  const progress = { ...NO_PROGRESS, rows: 0, total: 0 }
  let markedMs = nowMs()
  const mark = () => marks.run(() => work.mark({ progress: { ...progress }, checkpoint: null }))
  return {
    mark,
    async answered({ id, position, error, judge_error }: AnswerRow, total: number): Promise<void> {
      progress.rows += 1
      progress.total = total
      const failure = error ?? judge_error
      if (failure !== null) {
        work.leaveOut({ item: String(id ?? position), message: String(failure) })
      }
      if (!marks.isIdle || nowMs() - markedMs < MARK_EVERY_MS) return
      await mark()
      markedMs = nowMs()
    },
  }
}
