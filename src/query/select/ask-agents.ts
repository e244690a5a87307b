import type { Agent } from '../../domain/agents/agent.ts'
import type { AgentAnswer, AgentAnswers } from '../../domain/ports/model-ports.ts'
import { AppError } from '../../errors.ts'
import { mapConcurrent } from '../../runtime/map-concurrent.ts'

const QUESTIONS_MAX = 100
/** Questions of one statement that are asked at the same time. */
const QUESTIONS_AT_ONCE = 4

/**
 * Asks an agent in a FROM each distinct question once and gives the rows of its answers as JSON texts, in the order of
 * the questions. `SELECT product, total FROM agent …` asks for answers with these fields.
 * @throws AppError as a question failed; `sql_invalid_search` for too many questions
 */
export async function askAgent(
  { agent, fields }: { readonly agent: Agent; readonly fields: readonly string[] },
  texts: readonly string[],
  agents: AgentAnswers,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const questions = [...new Set(texts)].filter((text) => text.trim() !== '')
  if (questions.length > QUESTIONS_MAX) {
    const limit = `A statement asks agent ${agent.name} at most ${QUESTIONS_MAX} questions`
    const message = `${limit}, found ${questions.length}; narrow the table they come from`
    throw new AppError('sql_invalid_search', message)
  }
  const bounds = { concurrencyMax: QUESTIONS_AT_ONCE, signal }
  const answers = await mapConcurrent(questions, bounds, async (question, lane) => {
    const answer = await agents.ask(agent, questionWithFields(question, fields), lane)
    return rowsOf(question, answer, fields)
  })
  return answers.flat()
}

function rowsOf(
  question: string,
  { content, traceId, citations }: AgentAnswer,
  fields: readonly string[],
): readonly string[] {
  return answerFields(content, fields).map((object) => {
    return JSON.stringify({ ...object, answer: content, question, trace_id: traceId, citations })
  })
}

/** The question with what its answer must look like; without fields it stays as it is. */
function questionWithFields(question: string, fields: readonly string[]): string {
  if (fields.length === 0) return question
  const names = fields.map((field) => JSON.stringify(field)).join(', ')
  const form = `Answer with a JSON array of objects with the keys ${names}, and nothing else.`
  return `${question}\n\n${form}`
}

/**
 * The answer's objects with their keys in lower case; where the answer is not JSON, one row without fields. JSON within
 * a Markdown fence or a sentence counts.
 */
function answerFields(
  answer: string,
  fields: readonly string[],
): readonly Readonly<Record<string, unknown>>[] {
  if (fields.length === 0) return [{}]
  const json = jsonIn(answer)
  const objects = (Array.isArray(json) ? json : [json]).filter(isObject)
  if (objects.length === 0) return [{}]
  return objects.map((object) => {
    const entries = Object.entries(object).map(([key, value]) => [key.toLowerCase(), value])
    return Object.fromEntries(entries)
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function jsonIn(answer: string): unknown {
  for (const [open, close] of [
    ['[', ']'],
    ['{', '}'],
  ] as const) {
    const start = answer.indexOf(open)
    const end = answer.lastIndexOf(close)
    if (start === -1 || end < start) continue
    try {
      return JSON.parse(answer.slice(start, end + 1))
    } catch {
      // Brackets of a sentence: the other kind may still hold JSON.
    }
  }
  return undefined
}
