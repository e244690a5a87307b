import { literal } from '../../../domain/identifier.ts'
import type {
  ChatDelta,
  ChatModel,
  ChatRequest,
  Embedder,
  ToolCall,
} from '../../../domain/ports/model-ports.ts'
import type { Passage } from './answer-unit.ts'
import { conversationOf, type ObservedCall } from './asked-question.ts'
import { rowsAnswer, tablesAnswer, writtenAnswer } from './extractive-answer.ts'
import { type BaseFailure, type Choice, choiceOf, SEARCH_ID } from './many-bases.ts'
import {
  AROUND_ID,
  CHUNK_COLUMNS,
  callsAround,
  ofBase,
  QUERY_TOOL,
  quotedName,
  withNeighbours,
} from './neighbours.ts'
import { namesIn, passagesIn } from './observed-passages.ts'
import { asksForRows, describedIn, rowAnswer } from './row-questions.ts'
import { rankedUnits } from './unit-ranking.ts'

const CHUNKS_PER_SEARCH = 8

const LIST_TOOL = 'kb_list_tool'
const INFO_TOOL = 'kb_info_tool'
const TABLES_TOOL = 'sql_db_list_tables'
/** The id of the call that answers a question for rows. */
const ROWS_ID = 'rows'

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
  const turn = turnOf(request)
  const calls = nextCalls(turn)
  if (calls.length > 0) {
    for (const call of calls) yield { kind: 'tool_call', call }
    return
  }
  const text = answerFromRows(turn) ?? answerFromTables(turn) ?? (await quoted(turn, embed, signal))
  signal.throwIfAborted()
  yield { kind: 'text', text }
}

/** What is asked, and what is known of it by now. */
interface Turn {
  readonly question: string
  /** Knowledge bases. */
  readonly names: readonly string[]
  readonly calls: readonly ObservedCall[]
  /** Which of them are searched. */
  readonly choice: Choice
  readonly searches: readonly ObservedCall[]
  /** The tools that may still be called. */
  has(tool: string): boolean
}

function turnOf({ messages, tools }: ChatRequest): Turn {
  const { question, calls } = conversationOf(messages)
  const listing = calls.find((call) => call.name === LIST_TOOL)
  const names = listing === undefined ? [] : namesIn(listing.observation)
  return {
    question,
    names,
    calls,
    choice: choiceOf(question, names, calls),
    searches: calls.filter((call) => call.id.startsWith(SEARCH_ID)),
    has: (tool) => tools.some(({ name }) => name === tool),
  }
}

/** The knowledge bases' names; then the searches; then what stands beside what they found. */
function nextCalls(turn: Turn): readonly ToolCall[] {
  const { question, names, calls, choice, searches, has } = turn
  const isCalled = (tool: string) => calls.some((call) => call.name === tool)
  if (!isCalled(LIST_TOOL))
    return has(LIST_TOOL) ? [{ id: 'list', name: LIST_TOOL, input: '' }] : []
  if (names.length === 0) {
    const isOpen = has(TABLES_TOOL) && !isCalled(TABLES_TOOL)
    return isOpen ? [{ id: 'tables', name: TABLES_TOOL, input: '' }] : []
  }
  if (!has(QUERY_TOOL)) return []
  if (choice.calls.length > 0) return choice.calls
  if (choice.chosen.length === 0) return []
  if (searches.length === 0) {
    const needsColumns = asksForRows(question) && has(INFO_TOOL)
    const info = { id: 'info', name: INFO_TOOL, input: choice.chosen.join(', ') }
    return [...(needsColumns ? [info] : []), ...searchCalls(question, choice.chosen)]
  }
  if (calls.some(({ id }) => id === ROWS_ID || id.startsWith(AROUND_ID))) return []
  const statement = wantedRows(turn)?.statement ?? null
  if (statement !== null) return [{ id: ROWS_ID, name: QUERY_TOOL, input: statement }]
  return callsAround(foundBy(turn).flatMap(({ passages }) => passages))
}

/** What each search told, in their order. */
function foundBy({ choice, searches }: Turn): readonly Found[] {
  return searches.map(({ observation }, index) => {
    const name = choice.chosen[index] ?? ''
    const outcome = passagesIn(observation)
    if (outcome.kind === 'failure') return { passages: [], failure: { name, ...outcome } }
    return { passages: ofBase(name, outcome.passages), failure: null }
  })
}

interface Found {
  readonly passages: readonly Passage[]
  readonly failure: BaseFailure | null
}

function searchCalls(question: string, names: readonly string[]): readonly ToolCall[] {
  return names.map((name, index) => {
    const columns = `${CHUNK_COLUMNS}, relevance, distance`
    const search = `WHERE content = ${literal(question)} LIMIT ${CHUNKS_PER_SEARCH}`
    const input = `SELECT ${columns} FROM ${quotedName(name)} ${search}`
    return { id: `${SEARCH_ID}${index + 1}`, name: QUERY_TOOL, input }
  })
}

function wantedRows({ question, calls }: Turn) {
  const info = calls.find(({ name }) => name === INFO_TOOL)
  return info === undefined ? null : rowAnswer(question, describedIn(info.observation))
}

function answerFromRows(turn: Turn): string | null {
  const wanted = wantedRows(turn)
  if (wanted === null) return null
  const observation = turn.calls.find(({ id }) => id === ROWS_ID)?.observation ?? null
  return rowsAnswer(wanted, observation)
}

/** Only where there is no knowledge base. */
function answerFromTables({ names, calls }: Turn): string | null {
  const listing = calls.find(({ name }) => name === TABLES_TOOL)
  const tables = listing === undefined ? [] : namesIn(listing.observation)
  return names.length > 0 || tables.length === 0 ? null : tablesAnswer(tables)
}

async function quoted(turn: Turn, embed: Embedder['embed'], signal: AbortSignal): Promise<string> {
  const { question, names, calls, choice, searches } = turn
  const found = foundBy(turn)
  const around = calls.filter(({ id }) => id.startsWith(AROUND_ID))
  const passages = withNeighbours(
    found.flatMap((one) => one.passages),
    around,
  )
  const ranking = await rankedUnits(question, passages, embed, signal)
  const isWhole = names.length === choice.chosen.length
  const searched = isWhole ? names.slice(0, searches.length) : choice.compared
  const failures = [...found.flatMap(({ failure }) => failure ?? []), ...choice.failures]
  return writtenAnswer({ question, passages, ranking, names, searched, failures })
}
