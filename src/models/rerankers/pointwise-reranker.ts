import type { Reranker } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import {
  type CallForm,
  isCallRefusal,
  type Judge,
  type JudgeAnswer,
  type JudgeConfig,
  judge,
} from './judge.ts'
import { CLASS_LABELS, labelScore, numberScore, YES_LABELS } from './judged-score.ts'
import { shownTexts, withRerankDeadline } from './rerank-limits.ts'
import type { RerankMethod, RerankOptions } from './rerank-options.ts'
import { type JudgePrompt, passagePrompt } from './rerank-prompts.ts'

/** Asks a chat model about each passage by itself. */
export class PointwiseReranker implements Reranker {
  readonly #judge: Judge
  readonly #options: RerankOptions
  readonly #forms: readonly CallForm[]
  /** The form that the server was seen to answer; null: not known yet. */
  #knownForm: CallForm | null = null

  constructor(config: JudgeConfig) {
    this.#judge = judge(config)
    this.#options = config.options
    this.#forms = FORMS[config.options.method]
  }

  /**
   * A passage that the model gives no judgment of (a refusal, an answer that cannot be read) has
   * score 0: no single passage may stop the reranking. When more than half have none, it fails.
   */
  async rerank(
    queryText: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const shown = shownTexts(queryText, passages)
    const { timeoutMs } = this.#options
    const deadline = { url: this.#judge.url, timeoutMs, signal }
    const questions = shown.passages.map((passage) => ({ queryText: shown.queryText, passage }))
    const scores = await withRerankDeadline(deadline, (both) => this.#scoresOf(questions, both))
    const judgedCount = scores.filter((score) => score !== null).length
    if (judgedCount * 2 < scores.length) {
      this.#knownForm = null
      const missing = `${scores.length - judgedCount} of ${scores.length} passages`
      throw new AppError('provider_failed', `${this.#judge.url} gave no judgment of ${missing}`)
    }
    return scores.map((score) => score ?? 0)
  }

  /** The first question goes alone until it is known what the server can do. */
  async #scoresOf(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<readonly (number | null)[]> {
    const aloneCount = this.#knownForm === null ? 1 : 0
    const judged = (question: Question, laneSignal: AbortSignal) => {
      return this.#score(question, laneSignal)
    }
    const concurrencyMax = this.#options.callsAtOnceMax
    const first = await mapConcurrent(
      questions.slice(0, aloneCount),
      { concurrencyMax: 1, signal },
      judged,
    )
    const rest = await mapConcurrent(
      questions.slice(aloneCount),
      { concurrencyMax, signal },
      judged,
    )
    return [...first, ...rest]
  }

  /**
   * Until a form is known, asks in a barer one where the fuller is refused. A single passage cannot
   * change the form that is known: only an answer without probabilities, which is the server's.
   */
  async #score(question: Question, signal: AbortSignal): Promise<number | null> {
    const known = this.#knownForm
    for (const form of this.#forms.slice(known === null ? 0 : this.#forms.indexOf(known))) {
      const hasNext = form !== 'bare'
      const mayBeRefused = known !== null || hasNext
      const answer = await this.#answer(question, form, signal, mayBeRefused)
      if (answer === null && known !== null) return null
      if (answer === null) continue
      if (form === 'logprobs' && answer.tokens === null) {
        this.#knownForm = null
        continue
      }
      const score = this.#read(answer, form)
      if (score === null && answer.isCut && hasNext) continue
      if (score !== null) this.#knownForm ??= form
      return score
    }
    return null
  }

  /** null: the server refused this passage or form, if allowed. */
  async #answer(
    question: Question,
    form: CallForm,
    signal: AbortSignal,
    mayBeRefused: boolean,
  ): Promise<JudgeAnswer | null> {
    const prompt = this.#prompt(question, form)
    try {
      return await this.#judge.ask(prompt, form, signal)
    } catch (error) {
      if (mayBeRefused && isCallRefusal(error)) return null
      throw error
    }
  }

  #prompt(question: Question, form: CallForm): JudgePrompt {
    if (form !== 'logprobs') return passagePrompt('number', question)
    return passagePrompt(this.#options.method === 'binary' ? 'yes' : 'classes', question)
  }

  #read(answer: JudgeAnswer, form: CallForm): number | null {
    if (form !== 'logprobs') return numberScore(answer.text)
    return labelScore(answer, this.#options.method === 'binary' ? YES_LABELS : CLASS_LABELS)
  }
}

interface Question {
  readonly queryText: string
  readonly passage: string
}

const FORMS: Readonly<Record<RerankMethod, readonly CallForm[]>> = {
  'multi-class': ['logprobs', 'plain', 'bare'],
  binary: ['logprobs', 'plain', 'bare'],
  'no-logprobs': ['plain', 'bare'],
}
