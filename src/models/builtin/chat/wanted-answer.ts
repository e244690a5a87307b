import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import { UNSPACED } from '../../../core/text/words.ts'

/** What kind of thing a question asks for, as far as its words tell. */
export type AnswerKind = keyof typeof WORDS.wanted

const SPACED = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u

/** Words of one list as one expression; whole words where a script has spaces. */
function anyOf(words: readonly string[]): RegExp {
  const forms = words.map((word) => {
    const text = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    return SPACED.test(word) ? `(?<![\\p{L}\\p{N}])${text}(?![\\p{L}\\p{N}])` : text
  })
  return new RegExp(forms.join('|'), 'giu')
}

const ASKS = Object.entries(WORDS.wanted).map(([kind, words]) => {
  // The keys of the table are the kinds.
  return [kind as AnswerKind, anyOf(words)] as const
})
const WORD = /\p{L}+|\d[\d.,]*/gu
const NUMBERS = new Set(WORDS.numbers.split(' '))
const DATES = new Set(WORDS.dates.split(' '))
const UNSPACED_NUMBER = /[〇一二三四五六七八九十百千万亿]/u
const UNSPACED_DATE = /[年月日]|世纪/u
const REASON = anyOf(WORDS.reasons)
/** A capitalized word that does not begin its sentence. */
const NAME =
  /(?<![.!?。！？:]["'”’)\]]*\s+|^["'“‘([]*)(?<=[\s"'“‘(\-–/])\p{Lu}[\p{L}\p{M}\p{N}’'-]*/gu

/** The kind that a question asks for first; `name` only where it asks for nothing else. */
export function wantedKind(question: string): AnswerKind | null {
  let best: { readonly kind: AnswerKind; readonly at: number } | null = null
  for (const [kind, expression] of ASKS) {
    const at = question.search(expression) + (kind === 'name' ? question.length : 0)
    if (question.search(expression) === -1) continue
    if (best === null || at < best.at) best = { kind, at }
  }
  return best?.kind ?? null
}

/** Whether a text holds something of the kind that the question does not hold itself. */
export function holdsKind(kind: AnswerKind, text: string, question: string): boolean {
  const asked = question.toLowerCase()
  const isNew = (found: string) => !asked.includes(found.toLowerCase())
  const isIn = (expression: RegExp) => text.match(expression)?.some(isNew) ?? false
  const hasWord = (form: RegExp, words: ReadonlySet<string>) => {
    const found = text.toLowerCase().match(WORD) ?? []
    return found.some((word) => (form.test(word) || words.has(word)) && isNew(word))
  }
  switch (kind) {
    case 'date':
      return hasWord(/^\d{3,4}$/, DATES) || UNSPACED_DATE.test(text)
    case 'number':
      return hasWord(/^\d/, NUMBERS) || UNSPACED_NUMBER.test(text)
    case 'reason':
      return REASON.test(text) || isIn(REASON)
    default:
      return UNSPACED.test(text) || isIn(NAME)
  }
}

const NAMED = /(?<=[\p{L}\p{N},]["'”’)\]]*\s+["'“‘(]*)\p{Lu}[\p{L}\p{M}\p{N}’'-]+|\d[\d.,]*\d|\d/gu

/** Names and numbers in a question; a name is a capitalized word after the first one. */
export function namedIn(question: string): readonly string[] {
  return question.match(NAMED) ?? []
}
