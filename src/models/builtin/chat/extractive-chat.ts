import { literal } from '../../../domain/identifier.ts'
import type {
  ChatDelta,
  ChatModel,
  ChatRequest,
  Embedder,
  ToolCall,
} from '../../../domain/ports/model-ports.ts'
import { conversationOf, type ObservedCall } from './asked-question.ts'
import { rowsAnswer, tablesAnswer, writtenAnswer } from './extractive-answer.ts'
import {
  AROUND_ID,
  CHUNK_COLUMNS,
  callsAround,
  QUERY_TOOL,
  quotedName,
  withNeighbours,
} from './neighbours.ts'
import { namesIn, passagesIn } from './observed-passages.ts'
import { asksForRows, describedIn, rowAnswer } from './row-questions.ts'
import { rankedUnits } from './unit-ranking.ts'

/** Knowledge bases that one question searches. */
const SEARCHED_MAX = 5
const CHUNKS_PER_SEARCH = 8

const LIST_TOOL = 'kb_list_tool'
const INFO_TOOL = 'kb_info_tool'
const TABLES_TOOL = 'sql_db_list_tables'
/** How the ids of calls begin that search, and of the one that answers a question for rows. */
const SEARCH_ID = 'search-'
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
  readonly searches: readonly ObservedCall[]
  /** The tools that may still be called. */
  has(tool: string): boolean
}

function turnOf({ messages, tools }: ChatRequest): Turn {
  const { question, calls } = conversationOf(messages)
  const listing = calls.find((call) => call.name === LIST_TOOL)
  return {
    question,
    names: listing === undefined ? [] : namesIn(listing.observation),
    calls,
    searches: calls.filter((call) => call.id.startsWith(SEARCH_ID)),
    has: (tool) => tools.some(({ name }) => name === tool),
  }
}

/** The knowledge bases' names; then the searches; then what stands beside what they found. */
function nextCalls(turn: Turn): readonly ToolCall[] {
  const { question, names, calls, searches, has } = turn
  const isCalled = (tool: string) => calls.some((call) => call.name === tool)
  if (!isCalled(LIST_TOOL))
    return has(LIST_TOOL) ? [{ id: 'list', name: LIST_TOOL, input: '' }] : []
  if (names.length === 0) {
    const isOpen = has(TABLES_TOOL) && !isCalled(TABLES_TOOL)
    return isOpen ? [{ id: 'tables', name: TABLES_TOOL, input: '' }] : []
  }
  if (!has(QUERY_TOOL)) return []
  if (searches.length === 0) {
    const searched = names.slice(0, SEARCHED_MAX)
    const needsColumns = asksForRows(question) && has(INFO_TOOL)
    const info = { id: 'info', name: INFO_TOOL, input: searched.join(', ') }
    return [...(needsColumns ? [info] : []), ...searchCalls(question, searched)]
  }
  if (calls.some(({ id }) => id === ROWS_ID || id.startsWith(AROUND_ID))) return []
  const statement = wantedRows(turn)?.statement ?? null
  if (statement !== null) return [{ id: ROWS_ID, name: QUERY_TOOL, input: statement }]
  return callsAround(
    names,
    searches.map(({ observation }) => passagesIn(observation)),
  )
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

async function quoted(
  { question, names, calls, searches }: Turn,
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<string> {
  const outcomes = searches.map(({ observation }) => passagesIn(observation))
  const found = outcomes.flatMap((outcome) => {
    return outcome.kind === 'passages' ? outcome.passages : []
  })
  const failures = outcomes.flatMap((outcome, index) => {
    if (outcome.kind !== 'failure') return []
    return [{ name: names[index] ?? '', message: outcome.message }]
  })
  const around = calls.filter(({ id }) => id.startsWith(AROUND_ID))
  const passages = withNeighbours(found, around)
  const ranking = await rankedUnits(question, passages, embed, signal)
  const searched = names.slice(0, searches.length)
  return writtenAnswer({ question, passages, ranking, names, searched, failures })
}
