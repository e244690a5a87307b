import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import type { ChatMessage, ToolCall } from '../../../core/domain/ports/model-ports.ts'
import { keywords } from './keywords.ts'
import { withNumber } from './wanted-form.ts'

export interface ObservedCall {
  readonly id: string
  readonly name: string
  readonly input: string
  readonly observation: string
}

export interface Conversation {
  /** The question. If it cannot be understood alone, words from the conversation are added. */
  readonly question: string
  readonly calls: readonly ObservedCall[]
}

/** Only the beginning of a longer question is read, because other requests wait meanwhile. */
export const QUESTION_CHARS_MAX = 2000

export function conversationOf(messages: readonly ChatMessage[]): Conversation {
  const calls = messages.flatMap((message) => {
    return message.role === 'assistant' ? message.toolCalls : []
  })
  // Earlier turns contain no calls, so the messages before the first call are the history and the
  // question.
  const firstCall = messages.findIndex((message) => {
    return message.role === 'assistant' && message.toolCalls.length > 0
  })
  const before = firstCall === -1 ? messages : messages.slice(0, firstCall)
  return {
    question: withSpellings(asQuery(standaloneQuestion(before))),
    calls: calls.flatMap((call) => observed(call, messages)),
  }
}

/** American and British spellings, mapped in both directions. */
const SPELLINGS: ReadonlyMap<string, string> = new Map(
  WORDS.spellings.split(', ').flatMap((pair) => {
    const [one = '', other = ''] = pair.split(' ')
    return [[one, other] as const, [other, one] as const]
  }),
)

/** Appends the other spelling of each word, because a text may use either. */
function withSpellings(question: string): string {
  const others = (question.toLowerCase().match(/\p{L}+/gu) ?? []).flatMap((word) => {
    return SPELLINGS.get(word) ?? []
  })
  return [question, ...new Set(others)].join(' ')
}

function observed(call: ToolCall, messages: readonly ChatMessage[]): readonly ObservedCall[] {
  return messages.flatMap((message) => {
    const isResult = message.role === 'tool' && message.callId === call.id
    const { id, name, input } = call
    return isResult ? [{ id, name, input, observation: message.content }] : []
  })
}

/** Words that refer to something said earlier. */
const POINTING_WORDS =
  /\b(he|her|him|his|it|its|one|ones|she|that|their|them|these|they|this|those|there|er|sie|es|ihn|ihm|ihr|dies\w*|davon|dafür|dazu|damit)\b/i
/** Phrases with which a question continues the previous one. */
const GOES_ON =
  /^(and|but|or|also|then|what about|how about|what if|and what|same for|und|oder|aber|was ist mit|wie ist es mit|y|e|et|¿y)\b|^(а|и|那|还有)/i
const KEYWORDS_MAX = { pointing: 3, goingOn: 4 } as const
/** How many earlier questions are considered for a chain of follow-ups. */
const TURNS_BACK_MAX = 3

/** The last question. A follow-up is completed with words from the previous question. */
function standaloneQuestion(messages: readonly ChatMessage[], turnsBack = 0): string {
  const last = messages.findLastIndex((message) => message.role === 'user')
  const question = messages[last]?.content ?? ''
  const before = messages.slice(0, Math.max(0, last))
  const hasHistory = before.some((message) => message.role === 'user')
  if (!hasHistory || turnsBack >= TURNS_BACK_MAX || !isFollowUp(question)) return question
  const answer = before.findLast((message) => message.role === 'assistant')?.content ?? ''
  const named = sourceMeant(question, answer)
  if (named !== null) return `${named} ${question.replace(ASKS_ON, ' ')}`
  const earlier = standaloneQuestion(before, turnsBack + 1)
  return `${withoutReplaced(earlier, question, answer)} ${question}`
}

/** Whether a question has too few meaningful words of its own. */
function isFollowUp(question: string): boolean {
  const count = new Set(keywords(question.replace(ASKS_ON, ' '))).size
  if (count === 0) return true
  if (GOES_ON.test(question.trim())) return count <= KEYWORDS_MAX.goingOn
  return count <= KEYWORDS_MAX.pointing && POINTING_WORDS.test(question)
}

const THINGS = '(?:one|quote|result|document|option|source|zitat|dokument|treffer)'
const ORDINALS: readonly RegExp[] = [
  ['first', '1st', 'erste\\w*'],
  ['second', '2nd', 'zweite\\w*'],
  ['third', '3rd', 'dritte\\w*'],
].map((words) => new RegExp(`\\b(?:${words.join('|')}) ${THINGS}\\b`, 'i'))
/** Requests for more without a subject, such as "tell me more". */
const ASKS_ON = new RegExp(
  `\\b(?:(?:and |und )?what about|tell me more|more|explain|erzähl\\w*|mehr|about|über|(?:the |das |den |der )?\\w+ ${THINGS})\\b`,
  'gi',
)
/** The line below a quote: document, page and heading, then the chunk's id. */
const SOURCE_LINE = /^— (.+) \[[^\s[\]]+\]$/gm

/** The source that a question refers to, for example as "the second one". */
function sourceMeant(question: string, answer: string): string | null {
  const number = ORDINALS.findIndex((ordinal) => ordinal.test(question))
  if (number === -1) return null
  return [...answer.matchAll(SOURCE_LINE)][number]?.[1]?.replace(/[,›]/g, ' ') ?? null
}

/** `54` in "And order 54?" */
const OTHER_NUMBER =
  /(?<!\b(?:in|im|on|am|at|by|since|before|after|until|seit|vor|nach|bis)\s+)(?<![\d.,:/-])\b\d+\b(?![.,:/-]\d)/iu

/**
 * "And in 2024?" changes the year, "and order 54?" the order; "what about the mixer?" rules out the
 * previous answer.
 */
function withoutReplaced(earlier: string, question: string, answer: string): string {
  const [number] = OTHER_NUMBER.exec(question) ?? []
  const renumbered = number === undefined ? earlier : withNumber(earlier, number)
  if (renumbered !== earlier) return renumbered
  const lengths = new Set((question.match(/\d+/g) ?? []).map((digits) => digits.length))
  const kept = earlier.replace(/\d+/g, (digits) => (lengths.has(digits.length) ? '' : digits))
  const own = new Set(keywords(question))
  if (lengths.size > 0 || own.size === 0 || POINTING_WORDS.test(question)) return kept
  const [source] = answer.matchAll(SOURCE_LINE)
  const [document = ''] = (source?.[1] ?? '').split(' › ')
  const subject = new Set(keywords(document))
  const isSubject = (word: string) => keywords(word).some((part) => subject.has(part))
  return kept.replace(/[\p{L}\p{N}_.@/-]+/gu, (word) => (isSubject(word) ? '' : word))
}

/** Short, because a search reads only the beginning, and without control characters. */
function asQuery(text: string): string {
  const plain = text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
  return plain.slice(0, QUESTION_CHARS_MAX).toWellFormed()
}
