import type { Language } from '../../../core/domain/language.ts'
import type { Embedder } from '../../../core/domain/ports/model-ports.ts'
import { Analyzer } from '../../../core/text/analyzer.ts'
import { learnedLanguage } from '../../../core/text/learned-language.ts'
import { isMostlyLatin, weightOf } from '../../../core/text/words.ts'
import type { AnswerUnit, Passage, Ranking } from './answer-unit.ts'
import { withParts } from './keywords.ts'
import { unitsOf } from './units.ts'
import { WantedForm } from './wanted-form.ts'

/** The number of units to embed, and the part of each: embedding one takes 10 to 15 ms of a core. */
const EMBEDDED_MAX = 10
const EMBEDDED_CHARS_MAX = 240
/** Units that are looked at, of passages that may be long. */
const UNITS_MAX = 2000

/**
 * The parts of a unit's score: the relevance of its passage, the weight of the question's terms in it, and in it with its
 * neighbours, and its cosine. bench/notes/agents.md describes how they were fitted; changing one by a third has almost no
 * effect.
 */
const WEIGHTS = { relevance: 12, own: 4.4, nearby: 4, cosine: 5 } as const
/** A title, a lone word or half a sentence explains less than a whole one that fits as well. */
const FRAGMENT_COST = 3
/** A unit without a word of the question in it or next to it is either another wording or something else. */
const WORDLESS_COSINE_MIN = 0.4

/**
 * When there is an answer: the weighted maxima of its parts reach the sum for the kind of question. Decision 48 has the
 * questions used, and the number of errors of both kinds. Cosines are used in English only.
 */
const EVIDENCE = { relevance: 8.3, cosine: 1.8, share: 5.5, nearby: 1.2 } as const
const EVIDENCE_MIN: Readonly<Record<QuestionKind, number>> = {
  english: 7.1,
  latin: 4.4,
  other: 3.6,
}

interface Scored {
  readonly unit: AnswerUnit
  /** Without the cosine. */
  readonly score: number
  readonly nearby: number
}

/** Ranks the units of passages by how well they answer a question, and decides whether one does. */
export async function rankedUnits(
  question: string,
  passages: readonly Passage[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<Ranking> {
  const texts = passages.map(({ heading, text }) => `${heading}\n${text}`)
  const terms = new QuestionTerms(question, texts)
  const scored = scoredUnits(passages, terms, new WantedForm(question))
  if (scored.length === 0) return { units: [], isRelevant: false }
  const embedded = terms.kind === 'english' ? scored.slice(0, EMBEDDED_MAX) : []
  const cosines = await cosinesTo(question, embedded, embed, signal)
  const units = scored.flatMap(({ unit, score, nearby }, index) => {
    const cosine = cosines[index] ?? 0
    const hasWords = nearby > 0
    const isNear = hasWords || cosine >= WORDLESS_COSINE_MIN
    return isNear ? [{ ...unit, score: score + WEIGHTS.cosine * cosine, hasWords }] : []
  })
  units.sort((a, b) => b.score - a.score)
  const evidence =
    EVIDENCE.relevance * Math.max(...passages.map(({ relevance }) => relevance)) +
    EVIDENCE.cosine * Math.max(0, ...cosines) +
    EVIDENCE.share * Math.max(...texts.map((text) => terms.shareHeld(terms.termsOf(text)))) +
    EVIDENCE.nearby * Math.max(...scored.map(({ nearby }) => nearby))
  return { units, isRelevant: evidence >= EVIDENCE_MIN[terms.kind] }
}

/** By what the words and the search say, the best first; the same words only once, since chunks overlap. */
function scoredUnits(
  passages: readonly Passage[],
  terms: QuestionTerms,
  form: WantedForm,
): readonly Scored[] {
  const units = unitsOf(passages).slice(0, UNITS_MAX)
  const held = units.map((unit) => terms.termsOf(inContext(unit)))
  const own = units.map((unit) => terms.termsOf(unit.text))
  const unique = new Map<string, Scored>()
  for (const [index, unit] of units.entries()) {
    const beside = [index - 1, index + 1].map((at) => {
      return units[at]?.site.stretch === unit.site.stretch ? own[at] : undefined
    })
    const nearby = terms.weightHeld(held[index], ...beside)
    const score =
      WEIGHTS.relevance * unit.passage.relevance +
      // Its setting counts half: all units below a heading share it.
      (WEIGHTS.own / 2) * (terms.weightHeld(own[index]) + terms.weightHeld(held[index])) +
      WEIGHTS.nearby * nearby +
      form.worthOf(unit) -
      (unit.isFragment ? FRAGMENT_COST : 0)
    const key = unit.text.replace(/\s+/g, ' ').toLowerCase()
    if ((unique.get(key)?.score ?? Number.NEGATIVE_INFINITY) < score) {
      unique.set(key, { unit, score, nearby })
    }
  }
  return [...unique.values()].sort((a, b) => b.score - a.score)
}

/** With its setting: what the unit is about. */
function inContext({ text, setting }: AnswerUnit): string {
  return setting === '' ? text : `${setting}: ${text}`
}

async function cosinesTo(
  question: string,
  embedded: readonly Scored[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (embedded.length === 0) return []
  // Alone, so that its vector is the search's own one, which the embedder still remembers.
  const [questionVectors, vectors] = await Promise.all([
    embed([question], signal),
    embed(
      embedded.map(({ unit }) => inContext(unit).slice(0, EMBEDDED_CHARS_MAX)),
      signal,
    ),
  ])
  return vectors.map((vector) => dot(vector, questionVectors[0]))
}

/** For vectors of length 1: their cosine. */
function dot(a: Float32Array, b: Float32Array | undefined): number {
  return a.reduce((sum, value, index) => sum + value * (b?.[index] ?? 0), 0)
}

/** The built-in embedding model reads English; in other languages and scripts only words count. */
type QuestionKind = 'english' | 'latin' | 'other'

/** The subject of a question, as terms that a text may contain, weighted by their rarity in some texts. */
class QuestionTerms {
  readonly kind: QuestionKind
  readonly #analyzer: Analyzer
  /** Term → its weight. */
  readonly #weights = new Map<string, number>()
  #weightSum = 0
  /** Passages and units are looked at more than once. */
  readonly #known = new Map<string, ReadonlySet<string>>()

  /** @param texts what was found for the question */
  constructor(question: string, texts: readonly string[]) {
    const language = learnedLanguage(texts).language ?? 'english'
    this.kind = questionKind(question, language)
    this.#analyzer = new Analyzer(language)
    const small = this.termsOf(SMALL_WORDS)
    const asked = [...this.termsOf(question)].filter((term) => !small.has(term))
    const held = texts.map((text) => this.termsOf(text))
    for (const term of asked) {
      const holders = held.filter((terms) => terms.has(term)).length
      const idf = Math.log(1 + (texts.length - holders + 0.5) / (holders + 0.5))
      const weight = weightOf(term) * idf
      this.#weights.set(term, weight)
      this.#weightSum += weight
    }
  }

  termsOf(text: string): ReadonlySet<string> {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const terms = new Set<string>()
    for (const piece of this.#analyzer.terms(withParts(text))) {
      for (const term of piece) terms.add(term.text)
    }
    this.#known.set(text, terms)
    return terms
  }

  /** The share of the question that some texts hold together, 0 to 1: rare terms count more. */
  weightHeld(...texts: readonly (ReadonlySet<string> | undefined)[]): number {
    if (this.#weightSum === 0) return 0
    let held = 0
    for (const [term, weight] of this.#weights) {
      if (texts.some((terms) => terms?.has(term))) held += weight
    }
    return held / this.#weightSum
  }

  /** The share of the question's terms that a text holds, 0 to 1. */
  shareHeld(terms: ReadonlySet<string>): number {
    if (this.#weights.size === 0) return 0
    return [...this.#weights.keys()].filter((term) => terms.has(term)).length / this.#weights.size
  }
}

function questionKind(question: string, language: Language): QuestionKind {
  if (!isMostlyLatin(question)) return 'other'
  return language === 'english' ? 'english' : 'latin'
}

/**
 * Question words, and words that are in nearly every text: they are in a question and say nothing about its answer. Too few
 * passages are examined for their count to show how common a word is.
 */
const SMALL_WORDS = `
what which who whom whose when where why how many much long far old often did do does was were is are be the a an of in on
at to by for from with and or that this it its as can there
was welche welcher welches welchem welchen wer wen wem wessen wann wo woher wohin warum wieso weshalb wie viel viele wieviel
der die das den dem des ein eine einen einem einer und oder in im an am auf von vom zu zum zur mit bei für ist sind war
waren wird wurde wurden hat haben hatte hatten sich nicht als auch nach aus es
quel quelle quels quelles qui que quoi quand où pourquoi comment combien est sont le la les un une des du de et en dans par
pour sur au aux se sa son ses ce cette il elle
qué que cuál cuáles quién quiénes cuándo dónde cómo cuánto cuántos cuántas cuánta por para con es son fue el la los las un
una de del en y al se su
che cosa quale quali chi quando dove perché come quanto quanti quante quanta è sono il lo la i gli le un una di del della
dei in e al si
qual quais quem quando onde como quanto quantos quantas quanta é são o a os as um uma de do da dos das em e no na
wat welke wie wanneer waar waarom hoe hoeveel is zijn de het een van en in op te met voor
что какой какая какое какие каких какого какому каким какую каком кто кого кому кем чем чего когда где куда откуда почему
зачем как сколько чей и в во на с со к ко по о об от до из за для не был была было были есть он она оно они его её их это
этот эта то который которая которые которых которой которого у при же
ما ماذا من متى أين اين لماذا كيف كم أي اي هو هي هم في على إلى الى عن مع هل التي الذي و أن ان كان كانت تم لم لا هذا هذه ذلك عدد
什么 哪 哪个 哪些 谁 何时 何 哪里 为什么 如何 怎么 怎样 多少 几 的 了 在 是 和 与 有 被 为 中 对 于`
