/** Questions of ten classes about the READMEs of installed packages, derived from those READMEs and package.json. */
import type { ReadmeFile } from '../../scripts/readme-files.ts'
import { type AskedAnswer, quotedText } from './asked-answer.ts'

export const QUESTION_CLASSES = [
  'definition',
  'option',
  'number',
  'yes or no',
  'how-to',
  'list',
  'licence',
  'comparison',
  'follow-up',
  'count',
] as const

export type QuestionClass = (typeof QUESTION_CLASSES)[number]

export interface ClassQuestion {
  readonly questionClass: QuestionClass
  readonly question: string
  /** The previous question. */
  readonly before: string | null
  /** What the answer should show from each of these documents. */
  readonly expected: readonly ExpectedQuote[]
  /** For a class that is answered by a statement, the result of running it. */
  readonly count: number | null
}

export interface ExpectedQuote {
  readonly document: string
  /** All of these must be in the quote, ignoring Markdown and line breaks. */
  readonly texts: readonly string[]
  /** Any of these is also accepted. */
  readonly others?: readonly string[]
}

/** Returns questions of each class, spread over the packages. */
export function classQuestions(readmes: readonly ReadmeFile[], most: number) {
  const all = readmes.flatMap(questionsOf)
  const pairs = comparisons(readmes)
  return QUESTION_CLASSES.flatMap((questionClass) => {
    const made = questionClass === 'count' ? counts(readmes) : [...all, ...pairs]
    return spread(
      made.filter((one) => one.questionClass === questionClass),
      most,
    )
  })
}

function spread<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items
  return items.filter(
    (_, at) =>
      Math.floor((at * most) / items.length) !== Math.floor(((at - 1) * most) / items.length),
  )
}

/** Matches `- **name** (…): description` and `| name | description |`, the name in backticks. */
const ENTRY =
  /^\s*(?:[-*]\s+|\|\s*|#{3,5}\s+)(?:\*\*)?`?([\w.-]{3,30})`?(?:\*\*)?(?=[ :(|])(.{10,400})$/gm
const DEFAULT =
  /default(?:s to| value is| is)?:?\s*(?:to |is )?[`*_]*(true|false|\d[\d_.]*\d|\d)\b/i
const NODE_VERSION =
  /node(?:\.js)?[^\n\d]{0,20}?(\d+)(?:\.[\dx]+)*(?:\+| (?:or|and) (?:later|higher|newer|above|up))/i
const FIRST_WORDS = 4
/** The limit for one README; others have fewer. */
const OPTIONS_MAX = 3

function questionsOf(readme: ReadmeFile): readonly ClassQuestion[] {
  const { packageName: name, text, license, description } = readme
  const questions: ClassQuestion[] = []
  const add = (
    questionClass: QuestionClass,
    question: string,
    texts: readonly string[],
    before: string | null = null,
  ) => {
    const expected = [{ document: name, texts: texts.map(plainText) }]
    questions.push({ questionClass, question, before, expected, count: null })
  }
  const definition = firstSentence(text)
  if (definition !== null) {
    add('definition', `What is ${name}?`, [definition])
    const others = [description, firstLine(text)].map(plainText).filter((one) => one.length > 15)
    const [made] = questions
    if (made !== undefined) {
      questions[0] = { ...made, expected: made.expected.map((one) => ({ ...one, others })) }
    }
  }
  const entries = [...text.matchAll(ENTRY)].filter(([, option = ''], at, those) => {
    return those.findIndex((one) => one[1] === option) === at
  })
  let optionCount = 0
  for (const [line, option = '', described = ''] of entries) {
    const words = described.match(/[\p{L}\p{N}]+/gu) ?? []
    const told = words.slice(0, FIRST_WORDS)
    const value = DEFAULT.exec(described)?.[1]
    if (value === undefined) {
      if (told.length < FIRST_WORDS || !line.includes(`\`${option}\``)) continue
      optionCount += 1
      if (optionCount > OPTIONS_MAX) continue
      add('option', `What does ${option} do in ${name}?`, [option, ...told])
    } else if (/^(?:true|false)$/.test(value)) {
      add('yes or no', `Is ${option} on by default in ${name}?`, [option, value])
    } else if (/^\d/.test(value)) {
      add('number', `What is the default of ${option} in ${name}?`, [option, value])
    }
  }
  const [node, version = ''] = NODE_VERSION.exec(text) ?? []
  if (node !== undefined) add('number', `Which Node.js version does ${name} need?`, [version])
  const install = new RegExp(`npm (?:i|install|add)\\b.*${escaped(name)}`).exec(text)?.[0]
  if (install !== undefined) add('how-to', `How do I install ${name}?`, [install])
  const list = firstList(text)
  if (list !== null)
    add('list', `What are the ${list.heading.toLowerCase()} of ${name}?`, list.items)
  const isTold = new RegExp(`licen[sc]e[\\s\\S]{0,200}\\b${escaped(license)}\\b`, 'i').test(text)
  if (isTold && /^[\w.-]+$/.test(license)) {
    add('licence', `Under which licence is ${name} available?`, [license])
    add('follow-up', 'Under which licence is it available?', [license], `What is ${name}?`)
  }
  return questions
}

/** Returns the first sentence of the first paragraph of prose. */
function firstSentence(text: string): string | null {
  const paragraph = text
    .split(/\n\s*\n/)
    .find((one) => /^[A-Z`*][^\n]{40,}/.test(one.trim()) && !/^\s*[[<#!|]/.test(one))
  const sentence = /^.{30,200}?[.:](?=\s|$)/s.exec(paragraph?.trim() ?? '')?.[0]
  return sentence === undefined || /[[\]<>]/.test(sentence) ? null : sentence
}

/** Returns only the first line of text, without pictures and links. */
function firstLine(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/^>\s*/, ''))
  return lines.find((line) => /^[A-Z`*][^[\]<>]{14,}$/i.test(line)) ?? ''
}

/** Returns a list of three items or more below a heading of one word. */
function firstList(text: string) {
  const match =
    /^#{2,4} ((?:[A-Z][a-z]+ )?[A-Z]?[a-z]{3,}s)\s*\n+(?:[^\n#]{10,200}:?\n\n)?((?:[-*] .+\n){3,20})/m.exec(
      text,
    )
  if (match === null) return null
  const [, heading = '', list = ''] = match
  const items = list
    .trim()
    .split('\n')
    .slice(0, 2)
    .map((item) => item.replace(/^[-*] /, ''))
  return { heading, items: items.map((item) => (item.match(/[\p{L}\p{N} ]+/u)?.[0] ?? '').trim()) }
}

function comparisons(readmes: readonly ReadmeFile[]): readonly ClassQuestion[] {
  const defined = readmes.filter(({ text }) => firstSentence(text) !== null)
  return defined.slice(1).map((one, at) => {
    const names = [defined[at]?.packageName ?? '', one.packageName]
    return {
      questionClass: 'comparison' as const,
      question: `What is the difference between ${names.join(' and ')}?`,
      before: null,
      expected: names.map((document) => ({ document, texts: [] })),
      count: null,
    }
  })
}

/** Questions about licences and sizes, which are in a table. */
function counts(readmes: readonly ReadmeFile[]): readonly ClassQuestion[] {
  const licenses = Map.groupBy(readmes, ({ license }) => license)
  const forms = [
    'How many documents have the license',
    'How many packages are there with license',
    'Count the documents with license',
  ]
  return forms.flatMap((form) =>
    [...licenses].map(([license, those]) => ({
      questionClass: 'count' as const,
      question: `${form} ${license}?`,
      before: null,
      expected: [],
      count: those.length,
    })),
  )
}

/** Whether the quotes contain everything that is expected from each document. */
export function isExpected(
  { expected }: ClassQuestion,
  { content, citations }: AskedAnswer,
): boolean {
  // The rows of a statement also count as an answer.
  const quoted = plainText(/```sql/.test(content) ? content : quotedText(content))
  return expected.every(({ document, texts, others = [] }) => {
    const isQuoted =
      content.includes(`| ${document} |`) ||
      citations.some(({ document_id, chunk_id }) => {
        return document_id === document && content.includes(chunk_id)
      })
    const isOther = others.some((text) => quoted.includes(text))
    return isQuoted && (isOther || texts.every((text) => quoted.includes(text)))
  })
}

/** Returns text without Markdown, in single spaces and lower case. */
export function plainText(text: string): string {
  return text
    .replace(/[*`\\]/g, '')
    .replace(/[_|]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
