import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import { UNSPACED } from '../../../core/text/words.ts'
import type { AnswerUnit } from './answer-unit.ts'

/** The score of a unit for the position and form that the question asks for, besides its words. */
export class WantedForm {
  /** The subject of "What is X?"; null: not such a question. */
  readonly #subject: string | null
  readonly #options: readonly RegExp[]
  /** The heading or text above the sentences so far. */
  #above: string | null = null

  constructor(question: string) {
    this.#subject = subjectOf(question)
    this.#options = optionsIn(question).map((option) => {
      return new RegExp(`(?<![\\p{L}\\p{N}-])${option}(?![\\p{L}\\p{N}-])`, 'u')
    })
  }

  /** Units must come in text order, to recognize the first sentence below a heading. */
  worthOf(unit: AnswerUnit): number {
    // A title, a lone word or half a sentence explains less than a whole one that fits as well.
    const cost = unit.isFragment ? WORTH.fragment : 0
    return this.#worthOfOption(unit) + this.#worthOfDefinition(unit) - cost
  }

  /** An option is explained where it is named first; elsewhere it is only mentioned. */
  #worthOfOption({ text, site }: AnswerUnit): number {
    if (this.#options.length === 0) return 0
    const { lead, stretch } = site
    const name = lead === null ? text : stretch.text.slice(lead.start, lead.end)
    const [firstLine = ''] = name.trimStart().split('\n')
    const isNamed = /^[\s`*]*-/.test(firstLine)
    if (isNamed && this.#options.some((option) => option.test(firstLine))) return WORTH.option
    return this.#options.some((option) => option.test(text)) ? WORTH.mention : 0
  }

  #worthOfDefinition({ text, passage, site, isFragment }: AnswerUnit): number {
    const subject = this.#subject
    if (subject === null) return 0
    if (site.kind === 'code') return -WORTH.code
    if (site.kind === 'row' || isFragment) return 0
    const heading = bare(site.heading.replace(WHAT_IS, ''))
    const above = JSON.stringify([passage.documentId, site.heading])
    const isFirst = above !== this.#above
    this.#above = above
    if (definesIt(text, subject)) return WORTH.definition
    const isBegin = passage.place?.number === 1 && bare(passage.documentId) === subject
    return isFirst && (heading === subject || isBegin) ? WORTH.opening : 0
  }
}

/** Weighed against the parts of a unit's score. */
const WORTH = { option: 12, mention: 1, definition: 6, opening: 6, code: 3, fragment: 2 } as const
const SUBJECT_WORDS_MAX = 3

const WHAT_IS =
  /^(?:what(?: is|'s| are| was| were)|was (?:ist|sind)|what (?:does|did)|was macht)\s+(?:an? |the |der |die |das |eine? )?/i

/** `What is a transport in pino?` → `transport`. */
function subjectOf(question: string): string | null {
  if (!WHAT_IS.test(question)) return null
  const rest = question
    .replace(WHAT_IS, '')
    .replace(/\s+(?:in|for|of|bei|von|do|used for)\b.*$/i, '')
    .replace(/[?!.\s]+$/, '')
  const subject = bare(rest)
  return subject === '' || rest.split(/\s+/).length > SUBJECT_WORDS_MAX ? null : subject
}

const DEFINES =
  /^(.{2,60}?)(?:\s+(?:(?:is|are|was|were|ist|sind)\s+(?:an?|the|one|your|ein|eine|der|die|das)|means|provides)\s|\s+[-–—]+\s|:\s)/isu

/** `X is a …`, `X - a …`. */
function definesIt(text: string, subject: string): boolean {
  const start = DEFINES.exec(text)?.[1]
  if (start === undefined) return false
  const named = bare(
    start.replace(/^\W*(?:an?|the|der|die|das|eine?)\s/i, '').replace(/\s(?:for|of|in)\s.*/is, ''),
  )
  return named === subject
}

/** Short options (`-v`) are not search words. */
export function optionsIn(question: string): readonly string[] {
  return [...question.matchAll(/(?<![\p{L}\p{N}-])-[a-zA-Z0-9](?![\p{L}\p{N}-])/gu)].map(
    ([option]) => option,
  )
}

/** Letters and digits alone. */
export function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

/** What kind of thing a question asks for, as far as its words tell. */
export type AnswerKind = keyof typeof WORDS.wanted

const SPACED = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u

/** Words of one list as one expression; whole words in scripts with spaces. */
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

/** The kind a question asks for first; `name` only if it asks for nothing else. */
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
