import type { TokenUsage } from '../../../core/domain/agents/completion-event.ts'
import { literal } from '../../../core/domain/names.ts'
import type {
  ChatDelta,
  ChatModel,
  ChatRequest,
  Embedder,
  ToolCall,
} from '../../../core/domain/ports/model-ports.ts'
import { sum } from '../../../core/json.ts'
import { answerEnd } from '../../provider-answer.ts'
import type { Passage } from './answer-unit.ts'
import { conversationOf, type ObservedCall } from './asked-question.ts'
import { rowsAnswer, tablesAnswer, type WrittenAnswer, writtenAnswer } from './extractive-answer.ts'
import { type BaseFailure, type Choice, choiceOf, SEARCH_ID } from './many-bases.ts'
import {
  AROUND_ID,
  CHUNK_COLUMNS,
  callsAround,
  listedNames,
  ofBase,
  passagesIn,
  QUERY_TOOL,
  quotedName,
  withNeighbours,
} from './observed-passages.ts'
import { asksForRows, describedIn, rowAnswer } from './row-questions.ts'
import { rankedUnits } from './unit-ranking.ts'
import { bare, idsIn, optionsIn } from './wanted-form.ts'

const CHUNKS_PER_SEARCH = 8

const LIST_TOOL = 'kb_list_tool'
const INFO_TOOL = 'kb_info_tool'
const TABLES_TOOL = 'sql_db_list_tables'
/** The id of the call that answers a question for rows. */
const ROWS_ID = 'rows'
/** Further searches: for what holds an option of the question, and within the documents that it names. */
const OPTION_ID = 'option-'
const NAMED_ID = 'named-'
/** What is called in the last turn before the answer. */
const LAST_IDS = new RegExp(`^(?:${NAMED_ID}|${AROUND_ID})`)

/**
 * The chat model that needs no key. It takes the same turns as a language model (list the knowledge bases, search each,
 * answer) and answers with the sentences that fit the question best, quoted and cited.
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
    const written = calls.map(({ name, input }) => `${name} ${input}`).join(' ')
    yield { kind: 'end', ...answerEnd('tool_calls', usageOf(request, written)) }
    return
  }
  const { text, evidence, further } =
    answerFromRows(turn) ?? answerFromTables(turn) ?? (await quotedAnswer(turn, embed, signal))
  signal.throwIfAborted()
  yield { kind: 'text', text }
  const judged = { evidence, ...(further === '' ? {} : { further }) }
  yield { kind: 'end', ...answerEnd('stop', usageOf(request, text)), judged }
}

/** It compares words, marks and ideographs, so these are its tokens. */
const TOKEN = /\p{Ideographic}|(?:(?!\p{Ideographic})[\p{L}\p{M}\p{N}])+|[^\s\p{L}\p{M}\p{N}]/gu

function usageOf({ messages }: ChatRequest, written: string): TokenUsage {
  const countIn = (text: string) => text.match(TOKEN)?.length ?? 0
  const inputTokens = sum(messages.map(({ content }) => countIn(content)))
  return { inputTokens, outputTokens: countIn(written), cachedTokens: 0 }
}

/** The question, and the findings so far. */
interface Turn {
  readonly question: string
  /** Knowledge bases. */
  readonly names: readonly string[]
  readonly calls: readonly ObservedCall[]
  /** The ones to search. */
  readonly choice: Choice
  readonly searches: readonly ObservedCall[]
  /** The tools that may still be called. */
  has(tool: string): boolean
}

function turnOf({ messages, tools }: ChatRequest): Turn {
  const { question, calls } = conversationOf(messages)
  const listing = calls.find((call) => call.name === LIST_TOOL)
  const names = listing === undefined ? [] : listedNames(listing.observation)
  return {
    question,
    names,
    calls,
    choice: choiceOf(question, names, calls),
    searches: calls.filter((call) => call.id.startsWith(SEARCH_ID)),
    has: (tool) => tools.some(({ name }) => name === tool),
  }
}

/** The knowledge bases' names; then the searches; then the text next to their results. */
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
  if (calls.some(({ id }) => id === ROWS_ID || LAST_IDS.test(id))) return []
  const statement = wantedRows(turn)?.statement ?? null
  if (statement !== null) return [{ id: ROWS_ID, name: QUERY_TOOL, input: statement }]
  const found = foundBy(turn)
  return [...namedCalls(turn, found), ...callsAround(found.flatMap(({ passages }) => passages))]
}

/** The result of each search, in order. */
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

/** A short option is not a word for a search: passages that contain it are searched separately. */
function searchCalls(question: string, names: readonly string[]): readonly ToolCall[] {
  const [option] = optionsIn(question)
  return names.flatMap((name, index) => {
    const search = { id: `${SEARCH_ID}${index + 1}`, name: QUERY_TOOL }
    const call = { ...search, input: searchOf(question, name) }
    if (option === undefined) return [call]
    const id = `${OPTION_ID}${index + 1}`
    return [call, { id, name: QUERY_TOOL, input: searchOf(question, name, holding(option)) }]
  })
}

/** Within the documents that the question names, as far as they were found: the best of them may be further down. */
function namedCalls({ question, choice }: Turn, found: readonly Found[]): readonly ToolCall[] {
  const named = new Set(idsIn(question).map(bare))
  return found.flatMap(({ passages }, index) => {
    const ids = new Set(passages.map(({ documentId }) => documentId))
    const asked = [...ids].filter((id) => named.has(bare(id)))
    if (asked.length === 0) return []
    const condition = ` AND id IN (${asked.map(literal).join(', ')})`
    const input = searchOf(question, choice.chosen[index] ?? '', condition)
    return [{ id: `${NAMED_ID}${index + 1}`, name: QUERY_TOOL, input }]
  })
}

/** How manuals introduce an option: at the start of a line, indented or in backticks. */
const OPTION_FORMS = ['#,%', '# %', '%  #,%', '%  # %', '%\n#,%', '%\n# %', '%`#%']

/** That the chunks hold an option in one of the forms above. */
function holding(option: string): string {
  const forms = OPTION_FORMS.map((form) => {
    return `chunk_content LIKE ${literal(form.replace('#', option))}`
  })
  return ` AND (${forms.join(' OR ')})`
}

function searchOf(question: string, name: string, condition = ''): string {
  return `SELECT ${CHUNK_COLUMNS}, relevance, distance FROM ${quotedName(name)} WHERE content = ${literal(question)}${condition} LIMIT ${CHUNKS_PER_SEARCH}`
}

function wantedRows({ question, calls }: Turn) {
  const info = calls.find(({ name }) => name === INFO_TOOL)
  return info === undefined ? null : rowAnswer(question, describedIn(info.observation))
}

function answerFromRows(turn: Turn): WrittenAnswer | null {
  const wanted = wantedRows(turn)
  if (wanted === null) return null
  const observation = turn.calls.find(({ id }) => id === ROWS_ID)?.observation ?? null
  const text = rowsAnswer(wanted, observation)
  return text === null ? null : { text, evidence: 'answer', further: '' }
}

/** Only if there is no knowledge base. */
function answerFromTables({ names, calls }: Turn): WrittenAnswer | null {
  const listing = calls.find(({ name }) => name === TABLES_TOOL)
  const tables = listing === undefined ? [] : listedNames(listing.observation)
  if (names.length > 0 || tables.length === 0) return null
  return { text: tablesAnswer(tables), evidence: 'none', further: '' }
}

/** With what the further searches found; one that failed is done without. */
function withFurther(found: readonly Passage[], { calls, choice }: Turn): readonly Passage[] {
  // Two knowledge bases may hold chunks with one id.
  const keyOf = ({ knowledgeBase, chunkId }: Passage) => `${knowledgeBase} ${chunkId}`
  const known = new Set(found.map(keyOf))
  const further = calls.flatMap(({ id, observation }) => {
    if (!id.startsWith(OPTION_ID) && !id.startsWith(NAMED_ID)) return []
    const outcome = passagesIn(observation)
    const name = choice.chosen[Number(id.split('-')[1]) - 1] ?? ''
    return outcome.kind === 'passages' ? ofBase(name, outcome.passages) : []
  })
  return [...found, ...further.filter((passage) => !known.has(keyOf(passage)))]
}

async function quotedAnswer(
  turn: Turn,
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<WrittenAnswer> {
  const { question, names, calls, choice, searches } = turn
  const found = foundBy(turn)
  const around = calls.filter(({ id }) => id.startsWith(AROUND_ID))
  const passages = withNeighbours(
    withFurther(
      found.flatMap((one) => one.passages),
      turn,
    ),
    around,
  )
  const ranking = await rankedUnits(question, passages, embed, signal)
  const isWhole = names.length === choice.chosen.length
  const searched = isWhole ? names.slice(0, searches.length) : choice.compared
  const failures = [...found.flatMap(({ failure }) => failure ?? []), ...choice.failures]
  return writtenAnswer({ question, passages, ranking, names, searched, failures })
}
