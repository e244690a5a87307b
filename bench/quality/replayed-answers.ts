/** Runs the built-in chat model on recorded searches, to see answers without a server. */
import { observationOf } from '../../src/agents/data/agent-data.ts'
import type { ChatMessage, Embedder, ToolCall } from '../../src/core/domain/ports/model-ports.ts'
import { BuiltinEmbedder } from '../../src/models/builtin/builtin-embedder.ts'
import { extractiveChat } from '../../src/models/builtin/chat/extractive-chat.ts'
import { quotesIn, ratesOf } from './answer-rating.ts'
import type { RatedCase } from './answer-report.ts'
import type { FoundChunk, RecordedCase } from './recorded-searches.ts'

/** @param limit the number of first questions of each case */
export async function replayed(
  cases: readonly RecordedCase[],
  limit: number,
): Promise<readonly RatedCase[]> {
  const embedder = new BuiltinEmbedder()
  const chat = extractiveChat(remembering(embedder.embed.bind(embedder)))
  try {
    const rated: RatedCase[] = []
    for (const { name, kind, questions, knowledgeBase } of cases) {
      const answers = []
      const chunks = chunksOf(cases.filter((one) => one.knowledgeBase === knowledgeBase))
      const documents = new Map(chunks.map(({ id, chunk_id }) => [chunk_id, id]))
      for (const { text, gold, found } of questions.slice(0, limit)) {
        const content = await answerTo(text, { chat, knowledgeBase, found, chunks })
        answers.push({ gold, quotes: quotesIn(content, (chunkId) => documents.get(chunkId)) })
      }
      rated.push({ name, kind, rates: ratesOf(answers) })
    }
    return rated
  } finally {
    await embedder.close()
  }
}

export function chunksOf(cases: readonly RecordedCase[]): readonly FoundChunk[] {
  const all = cases.flatMap(({ questions }) => questions.flatMap(({ found }) => found))
  return [...new Map(all.map((chunk) => [chunk.chunk_id, chunk])).values()]
}

/** Many questions embed the same sentences. */
function remembering(embed: Embedder['embed']): Embedder['embed'] {
  const known = new Map<string, Float32Array>()
  return async (texts, signal) => {
    const missing = [...new Set(texts.filter((text) => !known.has(text)))]
    const vectors = missing.length === 0 ? [] : await embed(missing, signal)
    for (const [index, vector] of vectors.entries()) known.set(missing[index] ?? '', vector)
    return texts.map((text) => known.get(text) ?? new Float32Array())
  }
}

interface Recorded {
  readonly chat: ReturnType<typeof extractiveChat>
  readonly knowledgeBase: string
  readonly found: readonly FoundChunk[]
  /** The chunks of the knowledge base that any question found. */
  readonly chunks: readonly FoundChunk[]
}

const TURNS_MAX = 6
const TOOLS = ['kb_list_tool', 'kb_query_tool'].map((name) => ({
  name,
  description: '',
  input: null,
}))

/** Plays an agent's loop until the model returns a text. */
async function answerTo(question: string, recorded: Recorded): Promise<string> {
  const messages: ChatMessage[] = [{ role: 'user', content: question }]
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const toolCalls: ToolCall[] = []
    let text = ''
    const request = { messages, tools: TOOLS }
    for await (const delta of recorded.chat.respond(request, new AbortController().signal)) {
      if (delta.kind === 'text') text += delta.text
      if (delta.kind === 'tool_call') toolCalls.push(delta.call)
    }
    if (toolCalls.length === 0) return text
    messages.push({ role: 'assistant', content: '', toolCalls })
    for (const call of toolCalls) {
      const isList = call.name === 'kb_list_tool'
      const content = isList
        ? `["mindsdb.${recorded.knowledgeBase}"]`
        : rowsOf(call.input, recorded)
      messages.push({ role: 'tool', callId: call.id, content })
    }
  }
  throw new Error('There is no answer after some turns')
}

/** Returns what the tool shows for a search, or for neighbouring chunks. */
export function rowsOf(sql: string, { found, chunks }: Pick<Recorded, 'found' | 'chunks'>): string {
  const isSearch = / WHERE content = /.test(sql)
  const limit = Number(/LIMIT (\d+)/.exec(sql)?.[1] ?? found.length)
  const rows = (isSearch ? found : chunks.filter((chunk) => isBeside(chunk, sql))).slice(0, limit)
  const cells = rows.map(({ id, chunk_id, chunk_content, relevance, distance }) => {
    return [id, chunk_id, chunk_content, ...(isSearch ? [relevance, distance] : [])]
  })
  const measured = isSearch ? ['relevance', 'distance'] : []
  const columns = ['id', 'chunk_id', 'chunk_content', ...measured]
  const limits = { rowsMax: 30, bytesMax: 65_536 }
  return observationOf({ columns, rows: cells, hasMore: false }, limits).text
}

const BESIDE = /\(id = '([^']*)' AND metadata->>'chunk_index' IN \(([^)]*)\)\)/g

function isBeside({ id, chunk_id }: FoundChunk, sql: string): boolean {
  const number = Number(/:(\d+)of\d+:\d+to\d+$/.exec(chunk_id)?.[1])
  return [...sql.matchAll(BESIDE)].some(([, document, indexes = '']) => {
    return document === id && indexes.includes(`'${number - 1}'`)
  })
}
