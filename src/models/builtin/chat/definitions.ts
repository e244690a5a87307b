/** What a question wants defined, and how texts define it. */
import { bare, keywords } from './keywords.ts'

const SUBJECT_WORDS_MAX = 3
/** Shorter names are abbreviations, whose case is always the same. */
const NAME_CHARS = 5

export const WHAT_IS =
  /^(?:what(?: is|'s| are| was| were)|was (?:ist|sind)|what (?:does|did)|was macht)\s+(?:an? |the |der |die |das |eine? )?/i

/** `What does the system run?`, but not `What does the system do?` */
const ASKS_FACT = /^what (?:does|did)(?!.*\b(?:do|mean)\b)/i

/** Matches questions about what two things have in common, or how they differ. */
export const COMPARES =
  /\b(?:differences? between|compare|unterschied\w* zwischen)\s+(.{1,80}?)\s+(?:and|with|to|und|mit)\s+([^?!]{1,80})/iu

/** `What is a transport in pino?` → `transport`; both things for a comparison. */
export function subjectsOf(question: string): readonly string[] {
  const [, one, other] = COMPARES.exec(question) ?? []
  if (one !== undefined && other !== undefined) return [bare(one), bare(other)]
  const subject = subjectWords(question)
  return subject === null ? [] : [bare(subject)]
}

/** `transport` for `What is a transport in pino?` */
function subjectWords(question: string): string | null {
  if (!WHAT_IS.test(question) || ASKS_FACT.test(question)) return null
  const words = question
    .replace(WHAT_IS, '')
    .replace(/^.*?["“„`]([^"”“`]+)["”“`].*$/, '$1')
    .replace(/\s+(?:in|for|of|bei|von|do|mean|used for)\b.*$/i, '')
    .replace(/[?!.\s]+$/, '')
  return bare(words) === '' || words.split(/\s+/).length > SUBJECT_WORDS_MAX ? null : words
}

const DEFINES =
  /^(.{2,60}?)(?:\s+(?:(?:is|are|was|were|ist|sind)\s+(?:an?|the|one|your|ein|eine|der|die|das)|means|provides)\s|\s+[-–—]+\s|:\s|\s*\n)/isu
/** `Checkpoints are points in …`, but not `Checkpoints are made …`. */
const DEFINES_MANY =
  /^(.{2,60}?s)[*_`]*\s+are\s+(?!(?:\w+(?:ed|en|ing|ly)|not|made|run|set|always|also|often)\b)/isu

/**
 * How texts define the subject of "What is a checkpoint?", as a regular expression for DuckDB, and a
 * part of it that is quickly found. Null for other questions.
 */
export function definingForm(question: string) {
  const subject = subjectWords(question)
  if (subject === null || keywords(subject).length === 0) return null
  // `the default of …` is a fact about something else.
  if (/\s(?:of|for|von|für)\s/i.test(question)) return null
  const name = subject.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const start = `(^|\\n|[.:] )[*_\`]*(an? |the |eine? |der |die |das )?${name}(s|e|en)?[*_\`]*( \\(.*\\)[*_\`]*)?`
  const [longest = ''] = subject.split(/\s+/).sort((a, b) => b.length - a.length)
  // The first letter may be small or a capital.
  const part = longest.length < NAME_CHARS ? longest : longest.slice(1)
  return { form: `${start}( is | are | ist | sind | ?\\n)|\\(${name}\\) ist? `, part }
}

/** Matches definitions such as `X is a …`, `X - a …`, `Xs are …`, `Extended Xylophone (X) is …`. */
export function definesIt(text: string, subject: string): boolean {
  const start = (DEFINES.exec(text) ?? DEFINES_MANY.exec(text))?.[1]
  if (start === undefined || OPTION_NAME.test(start)) return false
  const [name = '', abbreviation = ''] = start.split('(')
  const plain = name
    .replace(/^\W*(?:an?|the|der|die|das|eine?)\s/i, '')
    .replace(/\s(?:for|of|in)\s.*/is, '')
  return [plain, abbreviation].map(bare).some((one) => one === subject || one === `${subject}s`)
}

/** Matches the beginning of an option's entry. */
export const OPTION_NAME = /^[`*]*-/
