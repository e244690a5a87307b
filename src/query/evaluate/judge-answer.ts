import type { Citation } from '../../core/domain/agents/completion-event.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import { AppError } from '../../core/errors.ts'
import type { Judge } from './evaluate-options.ts'
import type { EvaluationModel } from './generate-questions.ts'
import { containsAnswer, isExactAnswer, saysNotFound } from './metrics/answer-verdicts.ts'
import { type AnswerJudgment, answerPrompt } from './metrics/evaluation-prompts.ts'
import type { GoldenQuestion } from './question-set.ts'
import type { AnswerRow } from './saved-answers.ts'

/** From this model score on, an answer counts as right. */
const RIGHT_SCORE = 0.5

/** A reply of another form is requested once more. */
const JUDGE_ATTEMPTS_MAX = 2

export interface Judges {
  /** The first that applies to a question decides whether its answer is right. */
  readonly names: readonly Judge[]
  /** There where `names` has `model`. */
  readonly model: EvaluationModel | null
  readonly notFoundPhrases: readonly string[]
}

/** A new answer, or a stored one. */
export interface GivenAnswer {
  readonly content: string
  readonly citations: readonly ShownCitation[]
}

export type ShownCitation = Pick<Citation, 'knowledge_base' | 'document_id' | 'chunk_id' | 'text'>

type Verdicts = Pick<
  AnswerRow,
  | 'correct'
  | 'exact'
  | 'contains'
  | 'cited'
  | 'cited_rank'
  | 'not_found'
  | 'said_not_found'
  | 'score'
  | 'reason'
  | 'judge_error'
>

/** What the judges say about one answer. A failing model is reported as `judge_error`. @throws the signal's reason */
export async function judgeAnswer(
  question: GoldenQuestion,
  answer: GivenAnswer,
  { names, model, notFoundPhrases }: Judges,
  signal: AbortSignal,
): Promise<Verdicts> {
  const { accepted, documentIds, isUnanswerable } = question
  const text = withoutMarks(answer)
  const opinion = model === null ? NO_OPINION : await modelOpinion(question, answer, model, signal)
  const { judgment } = opinion
  // An answer with a citation says something.
  const saidNotFound =
    judgment?.saysNotFound ?? (answer.citations.length === 0 && saysNotFound(text, notFoundPhrases))
  const rank = rankOf(question, answer.citations)
  const verdictOf: Readonly<Record<Judge, boolean | null>> = {
    exact: accepted.length === 0 ? null : isExactAnswer(text, accepted),
    contains: accepted.length === 0 ? null : containsAnswer(text, accepted),
    citation: documentIds.length === 0 ? null : rank !== null,
    not_found: isUnanswerable ? saidNotFound : null,
    model: judgment === null ? null : judgment.score >= RIGHT_SCORE,
  }
  const asked = (judge: Judge) => (names.includes(judge) ? verdictOf[judge] : null)
  const first = names.find((judge) => judge === 'model' || verdictOf[judge] !== null)
  return {
    correct: first === undefined ? null : verdictOf[first],
    exact: asked('exact'),
    contains: asked('contains'),
    cited: asked('citation'),
    cited_rank: names.includes('citation') ? rank : null,
    not_found: asked('not_found'),
    said_not_found: saidNotFound,
    score: judgment?.score ?? null,
    reason: judgment?.reason ?? null,
    judge_error: opinion.failure,
  }
}

/** The text without the ids of its citations: they contain numbers that the answer does not state. */
function withoutMarks({ content, citations }: GivenAnswer): string {
  return citations.reduce((text, { chunk_id: id }) => text.replaceAll(`[${id}]`, ' '), content)
}

/** Rank among documents, from 1; null: none is right. */
function rankOf(
  { documentIds, knowledgeBase }: GoldenQuestion,
  citations: GivenAnswer['citations'],
): number | null {
  const wanted = new Set(documentIds)
  const documents = new Map(
    citations.map((one) => [JSON.stringify([one.knowledge_base, one.document_id]), one]),
  )
  const index = [...documents.values()].findIndex((one) => {
    return wanted.has(one.document_id) && isOf(one.knowledge_base, knowledgeBase)
  })
  return index === -1 ? null : index + 1
}

/** `project.name`, or the name alone. */
function isOf(cited: string, wanted: string | null): boolean {
  if (wanted === null) return true
  const [full, key] = [nameKey(cited), nameKey(wanted)]
  return full === key || full.endsWith(`.${key}`)
}

interface ModelOpinion {
  readonly judgment: AnswerJudgment | null
  /** Why it is missing; null: it is there, or was not requested. */
  readonly failure: string | null
}

const NO_OPINION: ModelOpinion = { judgment: null, failure: null }

async function modelOpinion(
  { question, accepted, isUnanswerable }: GoldenQuestion,
  { content, citations }: GivenAnswer,
  model: EvaluationModel,
  signal: AbortSignal,
): Promise<ModelOpinion> {
  const isKnown = accepted.length > 0 || isUnanswerable
  const prompt = answerPrompt({
    question,
    answer: content,
    accepted: isKnown ? accepted : null,
    quotes: citations.map(({ text }) => text),
  })
  try {
    for (let attempt = 1; attempt <= JUDGE_ATTEMPTS_MAX; attempt += 1) {
      const judgment = await model.ask(prompt, signal)
      if (judgment !== null) return { judgment, failure: null }
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof AppError)) throw error
    return { judgment: null, failure: error.message }
  }
  return { judgment: null, failure: `${model.name} replied with something else than a score` }
}
