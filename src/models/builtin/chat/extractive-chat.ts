import { literal, quote } from '../../../domain/identifier.ts'
import type {
  ChatDelta,
  ChatMessage,
  ChatModel,
  ChatRequest,
  Embedder,
  ToolCall,
} from '../../../domain/ports/model-ports.ts'
import type { Passage } from './answer-unit.ts'
import { writtenAnswer } from './extractive-answer.ts'
import { namesIn, type Observed, passagesIn } from './observed-passages.ts'
import { keywords, rankedUnits } from './unit-ranking.ts'

/** Knowledge bases that one question searches. */
const SEARCHED_MAX = 5
const CHUNKS_PER_SEARCH = 8
const QUESTION_CHARS_MAX = 2000

const LIST_TOOL = 'kb_list_tool'
const QUERY_TOOL = 'kb_query_tool'
/** How the ids of calls begin: those that search, and those for the chunks beside what was found. */
const SEARCH_ID = 'search-'
const AROUND_ID = 'around-'
/** The best passages of a question: what stands before and after them is read too. */
const WIDENED_MAX = 4
/** Of a passage's relevance, what the chunks beside it are given. */
const NEIGHBOUR_SHARE = 0.8

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
  const searches = calls.filter((call) => call.id.startsWith(SEARCH_ID))
  const around = calls.filter((call) => call.id.startsWith(AROUND_ID))
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
    const aroundCalls = has(QUERY_TOOL) && around.length === 0 ? callsAround(names, outcomes) : []
    if (aroundCalls.length > 0) {
      for (const call of aroundCalls) yield { kind: 'tool_call', call }
      return
    }
    const ranking = await rankedUnits(question, withNeighbours(passages, around), embed, signal)
    signal.throwIfAborted()
    const searched = names.slice(0, searches.length)
    yield { kind: 'text', text: writtenAnswer({ question, ranking, names, searched, failures }) }
  }
}

interface ObservedCall {
  readonly id: string
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
    return isResult ? [{ id: call.id, name: call.name, observation: message.content }] : []
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

/** Fetches the chunks before and after the best ones, which may hold the heading or the end of a sentence. */
function callsAround(names: readonly string[], outcomes: readonly Observed[]): readonly ToolCall[] {
  const found = outcomes.flatMap((outcome, index) => {
    if (outcome.kind === 'failure') return []
    return outcome.passages.map((passage) => ({ name: names[index] ?? '', passage }))
  })
  const known = new Set(found.map(({ passage }) => placeKey(passage)))
  const conditions = new Map<string, string[]>()
  const best = found.toSorted((a, b) => b.passage.relevance - a.passage.relevance)
  for (const { name, passage } of best.slice(0, WIDENED_MAX)) {
    const { place, documentId } = passage
    if (place === null) continue
    const numbers = [place.number - 1, place.number + 1].filter((number) => {
      const isThere = number >= 1 && number <= place.total
      return isThere && !known.has(placeKey({ documentId, place: { ...place, number } }))
    })
    if (numbers.length === 0) continue
    const indexes = numbers.map((number) => literal(String(number - 1))).join(', ')
    const condition = `(id = ${literal(documentId)} AND metadata->>'chunk_index' IN (${indexes}))`
    conditions.set(name, [...(conditions.get(name) ?? []), condition])
  }
  return [...conditions].map(([name, parts], index) => {
    const limit = `LIMIT ${4 * WIDENED_MAX}`
    const from = `FROM ${quotedName(name)} WHERE ${parts.join(' OR ')}`
    const input = `SELECT ${CHUNK_COLUMNS} ${from} ${limit}`
    return { id: `${AROUND_ID}${index + 1}`, name: QUERY_TOOL, input }
  })
}

function placeKey({ documentId, place }: Pick<Passage, 'documentId' | 'place'>): string {
  return JSON.stringify([documentId, place?.column, place?.number])
}

/** A chunk beside one that was found is nearly as relevant. One that could not be read is done without. */
function withNeighbours(
  passages: readonly Passage[],
  around: readonly ObservedCall[],
): readonly Passage[] {
  const relevance = new Map(passages.map((passage) => [placeKey(passage), passage.relevance]))
  const neighbours = around.flatMap(({ observation }) => {
    const outcome = passagesIn(observation)
    return outcome.kind === 'passages' ? outcome.passages : []
  })
  const beside = neighbours.map((passage) => {
    const { documentId, place } = passage
    const near = [-1, 1].map((step) => {
      if (place === null) return 0
      const key = placeKey({ documentId, place: { ...place, number: place.number + step } })
      return relevance.get(key) ?? 0
    })
    return { ...passage, relevance: NEIGHBOUR_SHARE * Math.max(...near) }
  })
  return [...passages, ...beside]
}

const CHUNK_COLUMNS =
  "id, chunk_id, chunk_content, metadata->>'heading' AS heading, metadata->>'page' AS page"

function searchCalls(question: string, names: readonly string[]): readonly ToolCall[] {
  return names.slice(0, SEARCHED_MAX).map((name, index) => {
    const columns = `${CHUNK_COLUMNS}, relevance, distance`
    const search = `WHERE content = ${literal(question)} LIMIT ${CHUNKS_PER_SEARCH}`
    const input = `SELECT ${columns} FROM ${quotedName(name)} ${search}`
    return { id: `${SEARCH_ID}${index + 1}`, name: QUERY_TOOL, input }
  })
}

/** `project.kb` → `"project"."kb"`: names hold no dot. */
function quotedName(name: string): string {
  return name.split('.').map(quote).join('.')
}
