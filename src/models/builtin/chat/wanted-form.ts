import type { AnswerUnit } from './answer-unit.ts'

/** The score of a unit for the position and form that the question asks for, besides its words. */
export class WantedForm {
  /** The subject of "What is X?"; null: nothing is to be explained. */
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
    return this.#worthOfOption(unit) + this.#worthOfDefinition(unit)
  }

  /** An option is explained where it is named first; in other places it is only mentioned. */
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
const WORTH = { option: 12, mention: 1, definition: 4, opening: 4, code: 3 } as const
const SUBJECT_WORDS_MAX = 3

const WHAT_IS =
  /^(?:what(?: is|'s| are)|was (?:ist|sind)|what does|was macht)\s+(?:an? |the |der |die |das |eine? )?/i

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
  /^(.{2,60}?)(?:\s+(?:(?:is|are|ist|sind)\s+(?:an?|the|one|your|ein|eine|der|die|das)|means|provides)\s|\s+[-–—]+\s|:\s)/isu

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

function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}
