import { Analyzer } from '../../../analysis/analyzer.ts'
import { learnedLanguage } from '../../../analysis/learned-language.ts'
import { weightOf } from '../../../analysis/word-starts.ts'
import { isMostlyLatin } from '../../../analysis/words.ts'
import type { Language } from '../../../domain/language.ts'
import { withParts } from './keywords.ts'

/** The built-in embedding model reads English; in other languages and scripts only words tell. */
export type QuestionKind = 'english' | 'latin' | 'other'

/** What a question asks about, as terms that a text may hold, each as rare as it is in some texts. */
export class QuestionTerms {
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
    this.kind = kindOf(question, language)
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

function kindOf(question: string, language: Language): QuestionKind {
  if (!isMostlyLatin(question)) return 'other'
  return language === 'english' ? 'english' : 'latin'
}

/**
 * Words that ask, and those that stand in nearly every text: they are in a question and tell nothing about its answer. Few
 * passages are looked at, so that their number among these does not tell how common a word is.
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
