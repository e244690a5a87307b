/** What agents answer in SQL: one question for each text, its answer as rows. */
import { overriddenAgent } from '../../catalog/define-agent.ts'
import type { AgentAnswer } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import type { AgentRequest } from '../../sql/search/plan-inputs.ts'
import type { Binding } from './binding.ts'
import { answerFields, questionWithFields } from './structured-answer.ts'

const QUESTIONS_MAX = 100
/** Questions of one statement that are asked at the same time. */
const QUESTIONS_AT_ONCE = 4

/**
 * Asks each distinct question once and gives the rows of the answers as JSON texts, in the order of the questions.
 * @throws AppError as a question failed; `sql_invalid_search` for too many questions
 */
export async function agentAnswers(
  request: AgentRequest,
  texts: readonly string[],
  { deps, signal, options }: Omit<Binding, 'params'>,
): Promise<readonly string[]> {
  const questions = [...new Set(texts)].filter((text) => text.trim() !== '')
  const { name } = request.agent
  if (questions.length > QUESTIONS_MAX) {
    const found = `A statement asks agent ${name} at most ${QUESTIONS_MAX} questions`
    const message = `${found}, found ${questions.length}; narrow the table they come from`
    throw new AppError('sql_invalid_search', message)
  }
  const agent = options === null ? request.agent : overriddenAgent(request.agent, options, deps)
  const answers = new Map<string, AgentAnswer>()
  const waiting = [...questions]
  // The first failure ends the others' calls as well.
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const askOnes = async () => {
    for (let question = waiting.shift(); question !== undefined; question = waiting.shift()) {
      const asked = questionWithFields(question, request.fields)
      answers.set(question, await deps.agents.ask(agent, asked, either))
    }
  }
  try {
    await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, askOnes))
  } catch (error) {
    stop.abort(error)
    throw error
  }
  return questions.flatMap((question) => rowsOf(question, answers.get(question), request.fields))
}

function rowsOf(
  question: string,
  answer: AgentAnswer | undefined,
  fields: readonly string[],
): readonly string[] {
  if (answer === undefined) throw new Error('each question has an answer')
  const { content, traceId, citations } = answer
  return answerFields(content, fields).map((found) => {
    return JSON.stringify({ ...found, answer: content, question, trace_id: traceId, citations })
  })
}
