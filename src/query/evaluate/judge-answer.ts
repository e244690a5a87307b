import type { Citation } from '../../core/domain/agents/completion-event.ts'
import { nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { UNSPACED } from '../../core/text/words.ts'
import type { Judge } from './evaluate-options.ts'
import { type AnswerJudgment, answerPrompt } from './evaluation-prompts.ts'
import type { EvaluationModel } from './generate-questions.ts'
import type { GoldenQuestion } from './question-set.ts'

/** An answer counts as right from this model score. */
const RIGHT_SCORE = 0.5

/** Ask the model again if its reply does not have the expected form. */
const JUDGE_ATTEMPTS_MAX = 2

export interface Judges {
  /** The first judge that applies to a question decides. */
  readonly names: readonly Judge[]
  /** Set if `names` includes `model`. */
  readonly model: EvaluationModel | null
  readonly notFoundPhrases: readonly string[]
}

interface GivenAnswer {
  readonly content: string
  readonly citations: readonly ShownCitation[]
}

export type ShownCitation = Pick<Citation, 'knowledge_base' | 'document_id' | 'chunk_id' | 'text'>

/** If the model fails, the result has a `judge_error`. @throws the signal's reason */
export async function judgeAnswer(
  question: GoldenQuestion,
  answer: GivenAnswer,
  { names, model, notFoundPhrases }: Judges,
  signal: AbortSignal,
) {
  const { accepted, documentIds, isUnanswerable } = question
  const text = withoutMarks(answer)
  const opinion = model === null ? NO_OPINION : await modelOpinion(question, answer, model, signal)
  const { judgment } = opinion
  // An answer that cites something has found something.
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

/** Removes citation ids, whose numbers are not part of the answer. */
function withoutMarks({ content, citations }: GivenAnswer): string {
  return citations.reduce((text, { chunk_id: id }) => text.replaceAll(`[${id}]`, ' '), content)
}

/** The rank of the first right document, counted from 1; null if none is right. */
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

/** Compares with `project.name`, or with the name alone. */
function isOf(cited: string, wanted: string | null): boolean {
  if (wanted === null) return true
  const [full, key] = [nameKey(cited), nameKey(wanted)]
  return full === key || full.endsWith(`.${key}`)
}

interface ModelOpinion {
  readonly judgment: AnswerJudgment | null
  /** Why there is no model judgment; null if there is one, or if none was requested. */
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

/** Removes case, punctuation, articles and extra space, as SQuAD's evaluation does. */
export function normalizedAnswer(text: string): string {
  return withoutArticles(text.normalize('NFKC').toLowerCase().replace(PUNCTUATION, ''))
}

/** Unicode punctuation, and ASCII characters that Unicode counts as symbols. */
const PUNCTUATION = /[\p{P}$+<=>^`|~]/gu

function withoutArticles(text: string): string {
  return text
    .replace(/(?<![\p{L}\p{N}])(?:an?|the)(?![\p{L}\p{N}])/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim()
}

/** Whether the whole answer equals an accepted one. */
export function isExactAnswer(answer: string, accepted: readonly string[]): boolean {
  const said = normalizedAnswer(answer)
  return accepted.some((one) => {
    const wanted = normalizedAnswer(one)
    // An answer of only symbols or an article becomes empty, so compare it unchanged.
    return wanted === '' ? answer.trim() === one.trim() : said === wanted
  })
}

/** Whether the text contains an accepted answer as whole words. */
export function containsAnswer(answer: string, accepted: readonly string[]): boolean {
  // A sign may belong to a word, as in U.S., or separate words, as in 1989–1990, so try both.
  const said = [normalizedAnswer(answer), partedAnswer(answer)]
  return accepted.some((one) => {
    const wanted = [normalizedAnswer(one), partedAnswer(one)]
    if (wanted[0] === '') return answer.includes(one.trim()) && one.trim() !== ''
    return said.some((text, index) => holdsWords(text, wanted[index] ?? ''))
  })
}

function partedAnswer(text: string): string {
  return withoutArticles(text.normalize('NFKC').toLowerCase().replace(PUNCTUATION, ' '))
}

function holdsWords(text: string, wanted: string): boolean {
  if (wanted === '') return false
  return UNSPACED.test(wanted) ? text.includes(wanted) : ` ${text} `.includes(` ${wanted} `)
}

/** An answer that found nothing says so within this many characters. */
const OPENING_CHARS = 300

/** In common languages and by the built-in agent. Other wordings are not detected. */
const NOT_FOUND = [
  // The built-in agent's wording.
  /\bfound nothing relevant\b/,
  /\b(?:could|can|did|was|am|were|are|do|does)(?: not|n't|not| unable to| not able to)(?: be able to)? (?:find|found|locate|answer|determine|know|contain|mention|provide|specify|include|say|state)\b/,
  /\b(?:unable|not able) to (?:find|locate|answer|determine)\b/,
  /\b(?:is|are|was|were) (?:not|n't) (?:found|mentioned|specified|stated|contained|available|answered|given|covered)\b/,
  /\b(?:no|not any|not enough|insufficient) (?:relevant |specific |such |further |matching )?(?:information|answer|mention|data|results?|details?|documents?)\b/,
  /\b(?:nicht|nichts|keine?n?) (?:\p{L}+ )?(?:gefunden|finden|beantworten|informationen|angaben|antwort|erwähnt|enthalten)\b/u,
  /\b(?:aucune? (?:information|réponse|résultat|mention)|rien trouvé|n'ai pas (?:pu )?trouv|ne (?:trouve|peux|sais|contien\p{L}*|mentionn\p{L}*) pas)/u,
  /\b(?:no (?:he |se |hay |pude |puedo |encuentro|encontr|menciona)|ninguna (?:información|respuesta))/u,
  /\b(?:non (?:ho |è |posso |trovo|sono riuscit|ci sono informazioni)|nessuna (?:informazione|risposta))/u,
  /(?<!\p{L})(?:não (?:encontr|há|consegui|posso|foi|mencion)|nenhuma (?:informação|resposta))/u,
  /\b(?:niet (?:gevonden|vinden|vermeld|beantwoorden)|geen (?:informatie|antwoord))\b/,
  /(?<!\p{L})(?:nie (?:znal|mog|ma|zawier|podano)|brak (?:informacji|odpowiedzi))/u,
  /(?<!\p{L})(?:не (?:найден|нашел|нашёл|удалось|могу|указан|содерж|упомин)|нет (?:информации|ответа|данных))/u,
  /(?:没有(?:找到|提到|提及|相关|信息)|未(?:找到|提及|提供)|找不到|無法|无法(?:找到|回答|确定))/u,
  /(?:見つかり?ません|見つけることができません|記載(?:が|は)(?:ありません|ない)|情報(?:が|は)(?:ありません|ない)|わかりません)/u,
  /(?:찾을 수 없|찾지 못|정보가 없|언급되(?:어 있)?지 않|알 수 없)/u,
  /(?:لم (?:أجد|يتم العثور|أعثر)|لا (?:توجد|يوجد|أستطيع|يمكنني))/u,
] as const

/** @param phrases additional phrases from the client */
export function saysNotFound(answer: string, phrases: readonly string[] = []): boolean {
  const opening = answer
    .slice(0, OPENING_CHARS)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[’‘]/g, "'")
  if (opening.trim() === '') return true
  if (NOT_FOUND.some((pattern) => pattern.test(opening))) return true
  const text = answer.normalize('NFKC').toLowerCase()
  return phrases.some((phrase) => text.includes(phrase.normalize('NFKC').toLowerCase()))
}
