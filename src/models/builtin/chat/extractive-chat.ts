import type { TokenUsage } from '../../../core/domain/agents/completion-event.ts'
import { literal, quotedPath } from '../../../core/domain/names.ts'
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
import { COMPARES, definingForm } from './definitions.ts'
import {
  agentAnswer,
  rowsAnswer,
  tablesAnswer,
  type WrittenAnswer,
  writtenAnswer,
} from './extractive-answer.ts'
import { bare, keywords } from './keywords.ts'
import { type BaseFailure, type Choice, choiceOf, SEARCH_ID } from './many-bases.ts'
import {
  AROUND_ID,
  CHUNK_COLUMNS,
  callsAround,
  listedNames,
  ofBase,
  passagesIn,
  QUERY_TOOL,
  withNeighbours,
} from './observed-passages.ts'
import { asksForRows, countAnswer, describedIn, rowAnswer } from './row-questions.ts'
import { rankedUnits, withoutNames } from './unit-ranking.ts'
import { documentNames, filesIn, idsIn, numberedForms, optionsIn } from './wanted-form.ts'

const CHUNKS_PER_SEARCH = 8

const LIST_TOOL = 'kb_list_tool'
const INFO_TOOL = 'kb_info_tool'
const TABLES_TOOL = 'sql_db_list_tables'
const SCHEMA_TOOL = 'sql_db_schema'
const ROWS_ID = 'rows'
/** For chunks with an option or number from the question, and within documents that it names. */
const OPTION_ID = 'option-'
const NUMBER_ID = 'number-'
const DEFINING_ID = 'defining-'
const COMPARED_ID = 'compared-'
const FILE_ID = 'file-'
const NAMED_ID = 'named-'
const FURTHER_IDS = new RegExp(
  `^(?:${OPTION_ID}|${NUMBER_ID}|${DEFINING_ID}|${COMPARED_ID}|${FILE_ID}|${NAMED_ID})`,
)
/** Ids of the calls in the last turn before the answer. */
const LAST_IDS = new RegExp(`^(?:${NAMED_ID}|${COMPARED_ID}|${AROUND_ID})`)

/** Lists knowledge bases, searches each, and quotes the sentences that match best. */
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
    answerAboutAgent(turn) ??
    answerFromRows(turn) ??
    answerFromTables(turn) ??
    (await quotedAnswer(turn, embed, signal))
  signal.throwIfAborted()
  yield { kind: 'text', text }
  const judged = { evidence, ...(further === '' ? {} : { further }) }
  yield { kind: 'end', ...answerEnd('stop', usageOf(request, text)), judged }
}

/** What counts as one token: words, punctuation and ideographs, the units it compares. */
const TOKEN = /\p{Ideographic}|(?:(?!\p{Ideographic})[\p{L}\p{M}\p{N}])+|[^\s\p{L}\p{M}\p{N}]/gu

function usageOf({ messages }: ChatRequest, written: string): TokenUsage {
  const countIn = (text: string) => text.match(TOKEN)?.length ?? 0
  const inputTokens = sum(messages.map(({ content }) => countIn(content)))
  return { inputTokens, outputTokens: countIn(written), cachedTokens: 0 }
}

interface Turn {
  readonly question: string
  readonly asksAboutAgent: boolean
  readonly names: readonly string[]
  /** The names of tables, listed only if they may answer the question. */
  readonly tables: readonly string[]
  readonly calls: readonly ObservedCall[]
  readonly choice: Choice
  readonly searches: readonly ObservedCall[]
  /** Whether this tool may still be called. */
  has(tool: string): boolean
}

function turnOf({ messages, tools }: ChatRequest): Turn {
  const { question, calls } = conversationOf(messages)
  const listed = (tool: string) => {
    const listing = calls.find((call) => call.name === tool)
    return listing === undefined ? [] : listedNames(listing.observation)
  }
  const names = listed(LIST_TOOL)
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return {
    question,
    asksAboutAgent: ABOUT_AGENT.test(asked.trim()),
    names,
    tables: listed(TABLES_TOOL),
    calls,
    choice: choiceOf(question, names, calls),
    searches: calls.filter((call) => call.id.startsWith(SEARCH_ID)),
    has: (tool) => tools.some(({ name }) => name === tool),
  }
}

const GREETING = '(?:hi|hello|hey|hallo)'
const ABOUT_AGENT = new RegExp(
  `^(?:${GREETING}|(?:${GREETING}[\\s,.!]+)?(?:(?:who|what) are you|what (?:can|do) you (?:do|know)|what can i ask(?: you)?|how can you help(?: me)?|help|wer bist du|was (?:kannst|weißt) du))[\\s.!?]*$`,
  'i',
)

/** First lists knowledge bases and tables, then searches, then reads the text around the results. */
function nextCalls(turn: Turn): readonly ToolCall[] {
  const { question, names, tables, calls, choice, searches, has } = turn
  const isCalled = (tool: string) => calls.some((call) => call.name === tool)
  const call = (id: string, tool: string, input = ''): readonly ToolCall[] => {
    return has(tool) && !isCalled(tool) ? [{ id, name: tool, input }] : []
  }
  const needsRows = asksForRows(question)
  if (!isCalled(LIST_TOOL)) {
    const needsTables = needsRows || turn.asksAboutAgent
    return [...call('list', LIST_TOOL), ...(needsTables ? call('tables', TABLES_TOOL) : [])]
  }
  if (turn.asksAboutAgent) return []
  if (names.length === 0 && has(TABLES_TOOL) && !isCalled(TABLES_TOOL)) {
    return call('tables', TABLES_TOOL)
  }
  if (!has(QUERY_TOOL)) return []
  const isAsked = calls.some(({ id }) => id === ROWS_ID)
  const statement = isAsked ? null : (wantedRows(turn)?.statement ?? null)
  if (statement !== null) return [{ id: ROWS_ID, name: QUERY_TOOL, input: statement }]
  const schema =
    needsRows && tables.length > 0 ? call('schema', SCHEMA_TOOL, tables.join(', ')) : []
  if (names.length === 0) return schema
  if (choice.calls.length > 0) return choice.calls
  if (choice.chosen.length === 0) return []
  if (searches.length === 0) {
    const info = needsRows ? call('info', INFO_TOOL, choice.chosen.join(', ')) : []
    return [...info, ...schema, ...searchCalls(question, choice.chosen)]
  }
  if (isAsked || calls.some(({ id }) => LAST_IDS.test(id))) return []
  const found = foundBy(turn)
  const around = callsAround(found.flatMap(({ passages }) => passages))
  return [...namedCalls(turn, found), ...comparedCalls(turn, found), ...around]
}

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

/**
 * A search also finds words that only mention an option, such as `-v`, and documents about similar
 * things may hide the one that the question names. Other numbers hide `order 3`.
 */
function searchCalls(question: string, names: readonly string[]): readonly ToolCall[] {
  const [option] = optionsIn(question)
  const files = filesIn(question)
  const numbered = numberedForms(question)
  const defining = definingForm(question)
  // Most chunks do not contain the part, so the slower expression is tried on few.
  const defined =
    defining === null
      ? null
      : ` AND contains(chunk_content, ${literal(defining.part)})${matching(defining.form)}`
  const inFiles = files.map((word) => `id LIKE ${literal(`%${word}%`)}`)
  const conditions = [
    [SEARCH_ID, ''],
    ...(option === undefined ? [] : [[OPTION_ID, holding(option)]]),
    ...(numbered === null ? [] : [[NUMBER_ID, matching(numbered.byNoun, numbered.byLabel)]]),
    ...(defined === null ? [] : [[DEFINING_ID, defined]]),
    ...(files.length === 0 ? [] : [[FILE_ID, ` AND (${inFiles.join(' OR ')})`]]),
  ]
  // The further searches come last, because the number of tool calls is limited.
  return conditions.flatMap(([id, condition]) => {
    return names.map((name, index) => {
      const input = searchOf(question, name, condition)
      return { id: `${id}${index + 1}`, name: QUERY_TOOL, input }
    })
  })
}

/** Searches for a compared thing that no passage mentions. */
function comparedCalls({ question, choice }: Turn, found: readonly Found[]): readonly ToolCall[] {
  const [, ...things] = COMPARES.exec(question) ?? []
  return found.flatMap(({ passages }, index) => {
    const told = bare(passages.map((one) => `${one.documentId} ${one.text}`).join(' '))
    const missing = things.find((thing) => !told.includes(bare(thing)))
    if (missing === undefined) return []
    const input = searchOf(missing, choice.chosen[index] ?? '')
    return [{ id: `${COMPARED_ID}${index + 1}`, name: QUERY_TOOL, input }]
  })
}

/** The best passage of a document that the question names may rank lower elsewhere. */
function namedCalls({ question, choice }: Turn, found: readonly Found[]): readonly ToolCall[] {
  const [option] = optionsIn(question)
  const held =
    option === undefined
      ? ''
      : ` AND regexp_matches(chunk_content, ${literal(`(^|[^\\pL\\pN-])${option}($|[^\\pL\\pN-])`)})`
  return found.flatMap(({ passages }, index) => {
    const ids = new Set(ofNamed(question, passages).map(({ documentId }) => documentId))
    if (ids.size === 0) return []
    const condition = ` AND id IN (${[...ids].map(literal).join(', ')})${held}`
    // All of them mention the document's name.
    const rest = withoutNames(question, passages)
    const text = keywords(rest).length > 0 ? rest : question
    const input = searchOf(text, choice.chosen[index] ?? '', condition)
    return [{ id: `${NAMED_ID}${index + 1}`, name: QUERY_TOOL, input }]
  })
}

/** The passages of documents that the question names. */
function ofNamed(question: string, passages: readonly Passage[]): readonly Passage[] {
  const named = new Set(idsIn(question).map(bare))
  return passages.filter((one) => documentNames(one).some((name) => named.has(name)))
}

/** How manuals introduce an option: at the start of a line, indented, as another name, or in backticks. */
const OPTION_STARTS = ['', '%\n', '%  ', '%\t', '%, ', '%`']

/** A condition for chunks that contain the option in one of these forms. */
function holding(option: string): string {
  const ends = option.startsWith('--') ? ['%'] : [',%', ' %', '`%']
  const forms = OPTION_STARTS.flatMap((start) => {
    return ends.map((end) => `chunk_content LIKE ${literal(start + option + end)}`)
  })
  return ` AND (${forms.join(' OR ')})`
}

function matching(...forms: readonly string[]): string {
  return ` AND regexp_matches(chunk_content, ${literal(forms.join('|'))}, 'i')`
}

function hasForm(form: string, { heading, text }: Passage): boolean {
  return new RegExp(form, 'iu').test(`${heading}\n${text}`)
}

function searchOf(question: string, name: string, condition = ''): string {
  return `SELECT ${CHUNK_COLUMNS}, relevance, distance FROM ${quotedPath(name)} WHERE content = ${literal(question)}${condition} LIMIT ${CHUNKS_PER_SEARCH}`
}

function wantedRows({ question, names, tables, calls }: Turn) {
  const named = (isTable: boolean) => (name: string) => ({ name, isTable, columns: [] })
  const count = countAnswer(question, [...names.map(named(false)), ...tables.map(named(true))])
  if (count !== null) return count
  const described = calls.filter(({ name }) => name === INFO_TOOL || name === SCHEMA_TOOL)
  return rowAnswer(
    question,
    described.flatMap(({ observation }) => describedIn(observation)),
  )
}

function answerFromRows(turn: Turn): WrittenAnswer | null {
  const wanted = wantedRows(turn)
  if (wanted === null) return null
  const observation = turn.calls.find(({ id }) => id === ROWS_ID)?.observation ?? null
  const text = rowsAnswer(wanted, observation)
  return text === null ? null : { text, evidence: 'answer', further: '' }
}

function answerAboutAgent({ asksAboutAgent, names, tables }: Turn): WrittenAnswer | null {
  if (!asksAboutAgent || names.length === 0) return null
  return { text: agentAnswer(names, tables), evidence: 'none', further: '' }
}

/** Used only if there are no knowledge bases. */
function answerFromTables({ names, tables }: Turn): WrittenAnswer | null {
  if (names.length > 0 || tables.length === 0) return null
  return { text: tablesAnswer(tables), evidence: 'none', further: '' }
}

/** Adds the results of further searches; failed ones are ignored. */
function withFurther(found: readonly Passage[], { calls, choice }: Turn): readonly Passage[] {
  // Two knowledge bases may have chunks with the same id.
  const keyOf = ({ knowledgeBase, chunkId }: Passage) => `${knowledgeBase} ${chunkId}`
  const known = new Set(found.map(keyOf))
  const further = calls.flatMap(({ id, observation }) => {
    if (!FURTHER_IDS.test(id)) return []
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
  const passagesFound = found.flatMap((one) => one.passages)
  const all = withNeighbours(withFurther(passagesFound, turn), around)
  // An option of the same name in another document is another option.
  const ofDocuments = optionsIn(question).length === 0 ? [] : ofNamed(question, all)
  const possible = ofDocuments.length === 0 ? all : ofDocuments
  const numbered = numberedForms(question)
  const forms = numbered === null ? [] : [numbered.byNoun, numbered.byLabel]
  const held = forms.map((form) => possible.filter((one) => hasForm(form, one)))
  const passages = held.find((those) => those.length > 0) ?? possible
  const ranked = await rankedUnits(question, passages, embed, signal)
  const [best] = ranked.units
  const isOfOther = numbered !== null && best && !hasForm(numbered.alone, best.passage)
  const evidence = isOfOther && ranked.evidence === 'answer' ? 'closest' : ranked.evidence
  const ranking = { ...ranked, evidence }
  const isWhole = names.length === choice.chosen.length
  const searched = isWhole ? names.slice(0, searches.length) : choice.compared
  const failures = [...found.flatMap(({ failure }) => failure ?? []), ...choice.failures]
  const documents = [...new Set(ofDocuments.map(({ documentId }) => documentId))]
  return writtenAnswer({ question, passages, ranking, names, searched, failures, documents })
}
