import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import { UNSPACED } from '../../../core/text/words.ts'
import type { AnswerUnit, Passage } from './answer-unit.ts'
import { definesIt, OPTION_NAME, subjectsOf, WHAT_IS } from './definitions.ts'
import { bare, keywords } from './keywords.ts'
import { isQuestion } from './units.ts'

/** Scores a unit by whether its position and form fit the question, regardless of its words. */
export class WantedForm {
  /** The subjects of "What is X?" and of comparisons. */
  readonly #subjects: readonly string[]
  readonly #options: readonly RegExp[]
  /** Names in code, and all names that the question asks to explain. */
  readonly #codes: readonly RegExp[]
  readonly #settings: readonly RegExp[]
  /** Words that may be names of documents, and those among them that can hardly be anything else. */
  readonly #ids: ReadonlySet<string>
  readonly #files: ReadonlySet<string>
  readonly #asked: ReadonlySet<string>
  /** The question's first word. */
  readonly #begin: string | undefined
  /** The words asked for without function words. */
  readonly #meant: readonly string[]
  readonly #asksForAll: boolean
  readonly #asksHow: boolean
  /** The heading or text above the previous sentences. */
  #above: string | null = null
  /** The documents whose first sentence was seen. */
  readonly #begun = new Set<string>()

  constructor(question: string) {
    this.#subjects = subjectsOf(question)
    this.#ids = new Set(idsIn(question).map(bare))
    this.#files = new Set(filesIn(question).map(bare))
    this.#asked = new Set(keywords(question))
    this.#begin = firstWord(question)
    this.#meant = [...this.#asked].filter((word) => !SMALL.has(word))
    this.#asksForAll = ASKS_FOR_ALL.test(question)
    this.#asksHow = ASKS_HOW.test(question)
    this.#options = optionsIn(question).map(optionPattern)
    this.#codes = (question.match(CODE_WORD) ?? []).slice(0, NAMES_MAX).map(codePattern)
    this.#settings = [...this.#codes, ...(SETTING.exec(question)?.slice(1) ?? []).map(codePattern)]
  }

  /** Call this in text order, so that the first sentence below a heading is recognized. */
  worthOf(unit: AnswerUnit): number {
    const label = this.#subjects.length > 0 ? '' : (LABEL.exec(unit.text)?.[1] ?? '')
    const isLabelled = this.#isAsked(label, unit)
    const isHeaded = this.#isAsked(unit.site.heading, unit) || isLabelled || this.#isCell(unit)
    // A title, a single word or half a sentence explains less than an equally good whole sentence.
    const cost = unit.isFragment && !isHeaded ? WORTH.fragment : 0
    const names = documentNames(unit.passage)
    const isNamed = names.some((name) => this.#ids.has(name))
    const isFile = names.some((name) => this.#files.has(name))
    const named = isFile ? WORTH.file : isNamed ? WORTH.named : 0
    const isFirst = this.#isFirst(unit)
    const headed = isHeaded ? WORTH.headed + Number(isFirst) : 0
    const labelled = isLabelled && SHORT_LABEL.test(label) ? WORTH.labelled : 0
    const list = this.#worthOfList(unit, isHeaded)
    const form = this.#worthOfOption(unit) + this.#worthOfDefinition(unit, isFirst)
    const isShown = this.#asksHow && unit.site.kind === 'code'
    // Below a question, the first sentence answers.
    const isCommand = isHeaded && !isQuestion(unit.site.heading)
    const shown = isShown ? WORTH.shown + (isCommand ? WORTH.commands : 0) : 0
    return form + this.#worthOfCode(unit) + named + headed + labelled + list + shown - cost
  }

  /** Whether a row is about what the question names, and a column about what it asks for. */
  #isCell(unit: AnswerUnit): boolean {
    const { kind, lead, stretch } = unit.site
    if (kind !== 'row' || lead === null) return false
    const [, first = ''] = FIRST_CELL.exec(unit.text) ?? []
    const columns = keywords(stretch.text.slice(lead.start, lead.end))
    return this.#isAsked(first, unit) && columns.some((word) => this.#asked.has(word))
  }

  /** Whether a heading or label names what the question asks for, ignoring the document's name. */
  #isAsked(title: string, { passage }: AnswerUnit): boolean {
    const name = new Set(keywords(passage.documentId))
    const all = keywords(title.replace(SECTION_NUMBER, ''))
    const words = all.filter((word) => !name.has(word))
    if (words.length > 0 && words.every((word) => this.#asked.has(word))) return true
    // The same question in other words, as in a list of frequent ones.
    const isAll = this.#meant.length > 1 && this.#meant.every((word) => all.includes(word))
    return isAll && isQuestion(title) && this.#begin === firstWord(title)
  }

  /** Whether the heading above it names at least half of what the question asks for. */
  isBelowAsked(unit: AnswerUnit): boolean {
    const { heading } = unit.site
    // Most manuals have a heading such as `Usage`.
    if (/\bus(?:e|age|ing)\b/i.test(heading)) return false
    return this.#isAsked(heading, unit) && 2 * keywords(heading).length >= this.#meant.length
  }

  /** The score of a list below a heading or sentence that names what the question asks for. */
  #worthOfList(unit: AnswerUnit, isHeaded: boolean): number {
    if (unit.site.kind !== 'list') return 0
    const { lead, stretch, heading } = unit.site
    // Steps are numbered, as in a recipe below its title.
    const isSteps = this.#asksHow && /^1[.)]\s/.test(unit.text)
    if (isSteps && unit.setting.split(': ').some((title) => this.#isAsked(title, unit)))
      return WORTH.list
    const isAbout = (title: string) => keywords(title).some((word) => this.#asked.has(word))
    const isLed = lead !== null && isAbout(stretch.text.slice(lead.start, lead.end))
    if (this.#asksForAll) return isHeaded || isLed ? WORTH.list : 0
    // Of a list about many things, one item answers.
    return isLed || this.#asksHow || isAbout(heading) ? 0 : -WORTH.mixed
  }

  /** Whether the unit explains an option that the question names. */
  explainsOption({ text, site }: AnswerUnit): boolean {
    if (this.#options.length === 0) return false
    const { lead, stretch } = site
    const above = lead === null ? '' : stretch.text.slice(lead.start, lead.end)
    // A unit has the option's name above it or at its own beginning.
    return [above, text].flatMap(namesAtStart).some((name) => {
      return this.#options.some((option) => option.test(name))
    })
  }

  /** An option is explained at the beginning of its entry; elsewhere, it is only mentioned. */
  #worthOfOption(unit: AnswerUnit): number {
    if (this.explainsOption(unit))
      return WORTH.option + (OPTION_NAME.test(unit.text) ? WORTH.entry : 0)
    if (this.#options.some((option) => option.test(unit.text))) return WORTH.mention
    // `--sign` for "How do I sign a tag?"
    const isDoing = this.#asksHow && namesAtStart(unit.text).some((name) => this.#does(name))
    return isDoing ? WORTH.doing : 0
  }

  #does(option: string): boolean {
    const [, name = ''] = /--(\p{L}{3,})(?![\p{L}-])/u.exec(option) ?? []
    return keywords(name).some((word) => this.#asked.has(word))
  }

  /** A setting is explained where a row, an item or a sentence begins with its name. */
  #worthOfCode({ text, site }: AnswerUnit): number {
    const { lead, stretch, heading } = site
    const name = lead === null ? '' : stretch.text.slice(lead.start, lead.end)
    // Any sentence of its entry may tell the default.
    const isDefault = this.#asked.has('default') && /default/i.test(text)
    const texts = isDefault ? [text, name, heading] : [text]
    const begins = (code: RegExp, one: string) => {
      const at = one.search(code)
      return at !== -1 && !/[\p{L}\p{N}]/u.test(one.slice(0, at).replace(/^The /, ''))
    }
    const isEntry = texts.some((one) => this.#settings.some((code) => begins(code, one)))
    const isTold = texts.some((one) => this.#codes.some((code) => code.test(one)))
    const label = isDefault && /^\W*(?:the )?default/i.test(text) ? WORTH.told : 0
    const entry = isEntry && site.kind !== 'code' ? WORTH.entry + label : 0
    const value = this.#asked.has('default') && TELLS_DEFAULT.test(text) ? WORTH.value : 0
    return (isTold ? WORTH.told : 0) + entry + value
  }

  /** Whether the unit is the first sentence or item below a heading, except for `Type: text`. */
  #isFirst({ text, passage, site, isFragment }: AnswerUnit): boolean {
    if (site.kind === 'code' || site.kind === 'row' || isFragment) return false
    if (site.kind !== 'sentence' && LABEL.test(text)) return false
    const above = JSON.stringify([passage.documentId, site.heading])
    const isFirst = above !== this.#above
    this.#above = above
    return isFirst
  }

  /** Whether this is the first sentence of the document, after its title and badges. */
  #begins({ documentId, place }: Passage, text: string): boolean {
    if (place?.number !== 1 || this.#begun.has(documentId) || !FOUR_WORDS.test(text)) return false
    this.#begun.add(documentId)
    return true
  }

  #worthOfDefinition({ text, passage, site, isFragment }: AnswerUnit, isFirst: boolean): number {
    if (this.#subjects.length === 0) return 0
    if (site.kind === 'code') return -WORTH.code
    if (site.kind === 'row' || isFragment) return 0
    const heading = bare(site.heading.replace(SECTION_NUMBER, '').replace(WHAT_IS, ''))
    if (this.#subjects.some((subject) => definesIt(text, subject))) return WORTH.definition
    const names = documentNames(passage)
    const isBegin = this.#begins(passage, text)
    const isNamed = isBegin && this.#subjects.some((subject) => names.includes(subject))
    return (isFirst && this.#subjects.includes(heading)) || isNamed ? WORTH.opening : 0
  }
}

/** `how` for `(7) How do I …?` */
function firstWord(question: string): string | undefined {
  return /\p{L}+/u.exec(question)?.[0].toLowerCase()
}

/** Matches the number of a heading: `3.1 `, `6. `, `§ 4 `. */
const SECTION_NUMBER = /^(?:§\s*)?\d{1,3}(?:\.\d{1,3})*[.)]?\s+/

const FOUR_WORDS = /(?:\S+\s+){3}\S/

/** Matches a label such as `License: MIT`. */
const LABEL = /^[\s*_`-]*([\p{L}][\p{L} -]{1,30})[*_`]*:(?=\s)/u

/** `The default is 5`, `defaults to 5`, `(default: 5)`, `5 by default`. */
const TELLS_DEFAULT =
  /\bdefaults?(?: value| setting)?(?: is| are| to|:)|\bby default\b|\(the default/i

/** Longer ones begin a sentence, and `no-renames` is the name of an option. */
const SHORT_LABEL = /^\p{L}+(?: \p{L}+)?$/u

/** Matches what a row of a table is about. */
const FIRST_CELL = /^\|([^|]{1,60})\|/

/** On the same scale as the other parts of a unit's score. */
const WORTH = {
  ...{ option: 24, entry: 8, mention: 1, definition: 8, opening: 9, told: 4 },
  ...{
    named: 4,
    file: 12,
    headed: 3,
    labelled: 4,
    doing: 4,
    value: 2,
    list: 12,
    mixed: 1,
    code: 3,
    fragment: 2,
    shown: 1,
    commands: 8,
  },
} as const
const ASKS_FOR_ALL =
  /^(?:what|which|list|name)\b.*\b(?:are|were|all)\b|^(?:which|what) \S+s (?:do|does|can|has|have)\b|^welche\b|^was sind\b/i

const ASKS_HOW = /^(?:how (?:do|can|should|would|to)\b|wie (?:kann|mache|starte|stelle)\b)/i

const SMALL = new Set(WORDS.small.split(/\s+/))
export const DATES = new Set(WORDS.dates.split(' '))
const NAMES_MAX = 16

/**
 * What a question may call a document, as `bare` texts: its id, its file, the folder of a README,
 * its title.
 */
export function documentNames({
  documentId,
  heading,
}: Pick<Passage, 'documentId' | 'heading'>): readonly string[] {
  const path = documentId.split('/')
  const last = path.at(-1) ?? ''
  const file = last.replace(EXTENSION, '')
  const folders = [path.at(-2) ?? '', path.slice(-3, -1).join('/')]
  const [title = ''] = heading.split(' > ')
  const named = OVERVIEW.test(file) ? folders : [last, file]
  return [documentId, ...named, title].map(bare).filter((name) => name !== '')
}

const EXTENSION = /\.\p{L}[\p{L}\p{N}]{0,4}$/u
const OVERVIEW = /^(?:readme|index)$/i

/** Words in a question that may be names of documents: `chokidar`, `@scope/name`. */
export function idsIn(question: string): readonly string[] {
  const words = question.match(/[@\p{L}\p{N}][\p{L}\p{N}@/._-]*[\p{L}\p{N}]/gu) ?? []
  const ids = words.filter((word) => !SMALL.has(word.toLowerCase()))
  return [...new Set(ids.flatMap((word) => [word, word.toLowerCase()]))].slice(0, NAMES_MAX)
}

/** Matches `pino-abstract-transport`, `invoice_2024.pdf`. */
const FILE_NAME = /^(?=(?:.*\p{L}){4})[\p{L}\p{N}@]+(?:[-_./]+[\p{L}\p{N}]+)+$/u

export function filesIn(question: string): readonly string[] {
  return idsIn(question).filter((word) => FILE_NAME.test(word))
}

/** Options such as `-v` and `--verbose`. */
export function optionsIn(question: string): readonly string[] {
  const pattern = /(?<![\p{L}\p{N}-])-(?:[a-zA-Z0-9]|-[a-zA-Z0-9][\w-]*)(?![\p{L}\p{N}-])/gu
  return [...question.matchAll(pattern)].slice(0, NAMES_MAX).map(([option]) => option)
}

/** The first line and others that hold names only, if they begin with an option's. */
function namesAtStart(text: string): readonly string[] {
  const [first = '', ...rest] = text.trimStart().split(/\n+/)
  if (!OPTION_NAME.test(first)) return []
  const other = rest.findIndex((line) => !/^(?:\*\*|`)-/.test(line))
  return [first, ...rest.slice(0, other === -1 ? rest.length : other)]
}

export function optionPattern(option: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}-])${option}(?![\\p{L}\\p{N}-])`, 'u')
}

/** Names in code: `too_busy`, `maxLength`, `gc.auto`, but not file names. */
const CODE_WORD =
  /(?<![\p{L}\p{N}_.])(?:[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+|\p{Ll}+\p{Lu}[\p{L}\p{N}]*|\p{Ll}{2,}(?:\.(?!(?:com|io|js|json|md|net|org|py|rs|toml|ts|ya?ml)\b)\p{L}{2,})+)(?![\p{L}\p{N}_])/gu

/** Matches `What does paths do in chokidar?`, `the default of paths`, but not `does it do if …`. */
const SETTING =
  /(?:\bwhat does (?=.* do(?: in [^ ]+)?\W*$)|\bdefault (?:value )?(?:of|for) )(?:the )?[`"']?([\p{L}\p{N}]+(?:\.[\p{L}\p{N}]+)*)[`"']?(?= do\b| in\b|\W*$)/iu

function codePattern(word: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])${word.replaceAll('.', '\\.')}(?![\\p{L}\\p{N}_])`, 'u')
}

/** `order 3`, `Invoice no. 7`, but not `had 3 ships`, `Super Bowl 50`. */
const NUMBERED =
  /(?<![\p{L}\p{N}-])(?<!\p{Lu}\p{L}*\s(?=\p{Lu}))(\p{L}[\p{L}_]*?)(?:[\s_]+(?:[Ii][Dd]|[Nn]o\.?|[Nn]r\.?|[Nn]umber))?[\s#]*(?<=[\s#])(\d+)(?![\p{L}\p{N}%]|[.,:/-]\d|\s+\p{L}+s\b)/gu
/** Not part of a longer number, a decimal or a date. */
const NUMBER_START = '(?:^|[^\\p{L}\\p{N}.,:/-]|[^\\p{N}][.,:/-])'
const NUMBER_END = '(?:$|[^\\p{L}\\p{N}.,:/-]|[.,:/-](?:$|[^\\p{N}]))'
const BETWEEN = '[^\\p{L}\\p{N}\\n]{0,4}'
const LABEL_OF_NUMBER = '(?:id|no|nr|number)'

/**
 * How texts mention things such as `order 3` that a question names, as regular expressions for
 * DuckDB and JavaScript: by their noun, by a label such as `id`, by the number alone. Null if none.
 */
export function numberedForms(question: string) {
  const things = [...question.matchAll(NUMBERED)].flatMap(([, noun = '', number = '']) => {
    const word = noun.toLowerCase()
    return isNoun(word) ? [{ word, end: number + NUMBER_END }] : []
  })
  if (things.length === 0) return null
  const anyWith = (startOf: (word: string) => string) => {
    return things.map(({ word, end }) => startOf(word) + end).join('|')
  }
  return {
    byNoun: anyWith((word) => `(?:^|[^\\p{L}])${word}${BETWEEN}${LABEL_OF_NUMBER}?${BETWEEN}`),
    byLabel: anyWith(() => `(?:^|[^\\p{L}\\p{N}_])(?:${LABEL_OF_NUMBER}|#)${BETWEEN}`),
    alone: anyWith(() => NUMBER_START),
  }
}

/** The same question about `order 54` instead of `order 3`. */
export function withNumber(question: string, number: string): string {
  return question.replace(NUMBERED, (whole: string, noun: string, known: string) => {
    return isNoun(noun.toLowerCase()) ? whole.slice(0, -known.length) + number : whole
  })
}

function isNoun(word: string): boolean {
  return !(SMALL.has(word) || DATES.has(word) || UNSPACED.test(word))
}
