import { literal, quote } from '../../../domain/identifier.ts'
import type {
  ChatDelta,
  ChatMessage,
  ChatModel,
  ChatRequest,
  Embedder,
  ToolCall,
} from '../../../domain/ports/model-ports.ts'
import { writtenAnswer } from './extractive-answer.ts'
import { namesIn, passagesIn } from './observed-passages.ts'
import { keywords, rankedUnits } from './unit-ranking.ts'

/** Knowledge bases that one question searches. */
const SEARCHED_MAX = 5
const CHUNKS_PER_SEARCH = 8
const QUESTION_CHARS_MAX = 2000

const LIST_TOOL = 'kb_list_tool'
const QUERY_TOOL = 'kb_query_tool'

/**
 * The chat model that needs no key: it takes the same turns as a language model (list the knowledge
 * bases, search each, answer) and answers with the sentences that fit the question best, quoted and
 * cited.
 */
export function extractiveChat(embed: Embedder['embed']): ChatModel {
  return { respond: (request, signal) => respond(request, embed, signal) }
}

async function* respond(
  request: ChatRequest,
  embed: Embedder['embed'],
  signal: AbortSignal,
): AsyncGenerator<ChatDelta> {
  signal.throwIfAborted()
  const { question, calls } = conversationOf(request.messages)
  const has = (name: string) => request.tools.some((tool) => tool.name === name)
  const listing = calls.find((call) => call.name === LIST_TOOL)
  const searches = calls.filter((call) => call.name === QUERY_TOOL)
  const names = listing === undefined ? [] : namesIn(listing.observation)
  if (listing === undefined && has(LIST_TOOL)) {
    yield { kind: 'tool_call', call: { id: 'list', name: LIST_TOOL, input: '' } }
  } else if (searches.length === 0 && names.length > 0 && has(QUERY_TOOL)) {
    for (const call of searchCalls(question, names)) yield { kind: 'tool_call', call }
  } else {
    const outcomes = searches.map(({ observation }) => passagesIn(observation))
    const passages = outcomes.flatMap((outcome) => {
      return outcome.kind === 'passages' ? outcome.passages : []
    })
    const failures = outcomes.flatMap((outcome, index) => {
      if (outcome.kind !== 'failure') return []
      return [{ name: names[index] ?? '', message: outcome.message }]
    })
    const ranking = await rankedUnits(question, passages, embed, signal)
    signal.throwIfAborted()
    const searched = names.slice(0, searches.length)
    yield { kind: 'text', text: writtenAnswer({ question, ranking, names, searched, failures }) }
  }
}

interface ObservedCall {
  readonly name: string
  readonly observation: string
}

interface Conversation {
  /** What is asked, with the question before it where it makes no sense alone. */
  readonly question: string
  /** The calls of this question that have a result. */
  readonly calls: readonly ObservedCall[]
}

function conversationOf(messages: readonly ChatMessage[]): Conversation {
  const calls = messages.flatMap((message) => {
    return message.role === 'assistant' ? message.toolCalls : []
  })
  // Earlier turns hold no calls: whatever comes before the first call is the question and its
  // history.
  const firstCall = messages.findIndex((message) => {
    return message.role === 'assistant' && message.toolCalls.length > 0
  })
  const before = firstCall === -1 ? messages : messages.slice(0, firstCall)
  const questions = before.flatMap((message) => (message.role === 'user' ? [message.content] : []))
  const [question = '', earlier] = questions.toReversed()
  const isAlone = earlier === undefined || !isFollowUp(question)
  return {
    question: asQuery(isAlone ? question : `${earlier} ${question}`),
    calls: calls.flatMap((call) => observed(call, messages)),
  }
}

function observed(call: ToolCall, messages: readonly ChatMessage[]): readonly ObservedCall[] {
  return messages.flatMap((message) => {
    const isResult = message.role === 'tool' && message.callId === call.id
    return isResult ? [{ name: call.name, observation: message.content }] : []
  })
}

/** Words that stand for something said before. */
const POINTING_WORDS =
  /\b(he|her|him|his|it|its|one|ones|she|that|their|them|these|they|this|those)\b/i

/** Whether a question can only be understood from what was said before: hardly any words of its own. */
function isFollowUp(question: string): boolean {
  const count = new Set(keywords(question)).size
  return count === 0 || (count <= 2 && POINTING_WORDS.test(question))
}

/**
 * Control characters have no place in a statement, and a search takes no more than the beginning
 * anyway.
 */
function asQuery(text: string): string {
  const plain = text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
  return plain.slice(0, QUESTION_CHARS_MAX).toWellFormed()
}

const CHUNK_COLUMNS =
  "id, chunk_id, chunk_content, metadata->>'heading' AS heading, metadata->>'page' AS page"

function searchCalls(question: string, names: readonly string[]): readonly ToolCall[] {
  return names.slice(0, SEARCHED_MAX).map((name, index) => {
    const columns = `${CHUNK_COLUMNS}, relevance, distance`
    const search = `WHERE content = ${literal(question)} LIMIT ${CHUNKS_PER_SEARCH}`
    const input = `SELECT ${columns} FROM ${quotedName(name)} ${search}`
    return { id: `search-${index + 1}`, name: QUERY_TOOL, input }
  })
}

/** `project.kb` → `"project"."kb"`: names hold no dot. */
function quotedName(name: string): string {
  return name.split('.').map(quote).join('.')
}
