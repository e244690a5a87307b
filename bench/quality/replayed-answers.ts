/** The built-in chat model on recorded searches: what an agent would answer, without a server. */
import { observationOf } from '../../src/agents/data/observation.ts'
import type { ChatMessage, Embedder, ToolCall } from '../../src/domain/ports/model-ports.ts'
import { BuiltinEmbedder } from '../../src/models/builtin/builtin-embedder.ts'
import { extractiveChat } from '../../src/models/builtin/chat/extractive-chat.ts'
import { quotesIn, ratesOf } from './answer-rating.ts'
import type { RatedCase } from './answer-report.ts'
import type { FoundChunk, RecordedCase } from './recorded-searches.ts'

/** @param limit questions of each case, from its front */
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
      for (const { text, gold, found } of questions.slice(0, limit)) {
        const content = await answerTo(text, { chat, knowledgeBase, found })
        const documents = new Map(found.map(({ id, chunk_id }) => [chunk_id, id]))
        answers.push({ gold, quotes: quotesIn(content, (chunkId) => documents.get(chunkId)) })
      }
      rated.push({ name, kind, rates: ratesOf(answers) })
    }
    return rated
  } finally {
    await embedder.close()
  }
}

/** The same sentences are embedded for many questions. */
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
}

const TURNS_MAX = 6
const TOOLS = ['kb_list_tool', 'kb_query_tool'].map((name) => ({
  name,
  description: '',
  input: null,
}))

/** Plays the loop of an agent until there is a text. */
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

/** What the tool shows for `SELECT a, b … LIMIT n`. */
function rowsOf(sql: string, { found }: Recorded): string {
  const columns = (/SELECT (.*?) FROM/s.exec(sql)?.[1] ?? '').split(',').map((name) => name.trim())
  const limit = Number(/LIMIT (\d+)/.exec(sql)?.[1] ?? found.length)
  const rows = found.slice(0, limit).map((chunk) => {
    const cells = new Map<string, unknown>(Object.entries(chunk))
    return columns.map((name) => {
      const cell = cells.get(name)
      return typeof cell === 'string' || typeof cell === 'number' ? cell : null
    })
  })
  return observationOf({ columns, rows, hasMore: false }, { rowsMax: 30, bytesMax: 65_536 }).text
}
