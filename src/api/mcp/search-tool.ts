import { SEARCH_MODES, type SearchMode } from '../../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName } from '../../core/domain/names.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { definedFields } from '../../core/json.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import type { SearchOrder, SearchResult } from '../../query/search/run-search.ts'
import { type Arguments, answers, READS, type Tool, type ToolCall, takes } from './tool.ts'
import {
  documentTitle,
  documentUri,
  linkOf,
  namedAmong,
  readEiderUri,
  visibleData,
  wholeText,
} from './visible-data.ts'

const RESULTS_UNSET = 10
const RESULTS_MAX = 50
const SEARCH_TEXT_CHARS_MAX = 10_000
const PASSAGE_CHARS_MAX = 2_000
/** How many knowledge bases are searched by default, at most. */
const KNOWLEDGE_BASES_MAX = 20
const AT_ONCE_MAX = 4

/** Chat clients expect `search` to return `results` with `id`, `title`, `url` and `text`. */
export const SEARCH_TOOL: Tool = {
  name: 'search',
  title: 'Search documents',
  description:
    'Finds documents by meaning and keywords. Write the query in plain words, as a question or a few terms. ' +
    'Without "knowledge_base" all knowledge bases are searched. Each result is one document with its best passage as "text"; ' +
    'call fetch with its "id" for the whole document. list_data lists the knowledge bases and the columns for "filters".',
  needs: 'read',
  annotations: READS,
  inputSchema: takes(['query'], {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: SEARCH_TEXT_CHARS_MAX,
      description: 'What to look for, in plain words',
    },
    knowledge_base: {
      type: 'string',
      description: 'Search only this one: "project.name"; a name alone means the default project',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: RESULTS_MAX,
      description: `Number of documents; default ${RESULTS_UNSET}`,
    },
    filters: {
      type: 'object',
      description:
        'Conditions on metadata columns, all of which must hold: {"year": {">=": 2020}, "colour": "green"}. Needs "knowledge_base"',
    },
    mode: {
      type: 'string',
      enum: [...SEARCH_MODES],
      description: 'hybrid (default): by meaning and keywords; vector: by meaning; keyword',
    },
    min_relevance: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      description: 'Leave out less relevant results',
    },
  }),
  outputSchema: answers(['results'], {
    results: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string', description: 'For fetch' },
          title: { type: 'string' },
          url: { type: 'string', description: 'For citations' },
          text: { type: 'string', description: 'The passage that fits best' },
          knowledge_base: { type: 'string' },
          relevance: { type: ['number', 'null'], description: '0 to 1' },
        },
        required: ['id', 'title', 'url', 'text'],
      },
    },
    warnings: { type: 'array', items: { type: 'string' } },
  }),
  async run(sent, call) {
    const limit = sent.number('limit') ?? RESULTS_UNSET
    const { knowledgeBases, warnings } = searchedOf(sent, call)
    const found = await searchAll(knowledgeBases, searchOrder(sent, limit), call)
    const results = found.passages
      .toSorted((a, b) => (b.passage.relevance ?? 0) - (a.passage.relevance ?? 0))
      .slice(0, limit)
      .map(({ kb, passage }) => resultRecord(kb, passage, call.origin))
    const said = [...warnings, ...found.warnings]
    return { structured: { results, ...(said.length === 0 ? {} : { warnings: said }) } }
  },
}

interface Searched {
  readonly knowledgeBases: readonly KnowledgeBase[]
  readonly warnings: readonly string[]
}

function searchedOf(sent: Arguments, call: ToolCall): Searched {
  const all = visibleData(call).knowledgeBases
  const named = sent.optionalText('knowledge_base')
  if (named !== undefined) {
    const kb = namedAmong(all, { named, kind: 'knowledge_base', principal: call.principal })
    return { knowledgeBases: [kb], warnings: [] }
  }
  const knowledgeBases = all.slice(0, KNOWLEDGE_BASES_MAX)
  if (all.length === 0) {
    return { knowledgeBases, warnings: ['There are no knowledge bases to search'] }
  }
  if (all.length === knowledgeBases.length) return { knowledgeBases, warnings: [] }
  const left = `Searched the first ${KNOWLEDGE_BASES_MAX} of ${all.length} knowledge bases`
  return { knowledgeBases, warnings: [`${left}: name one with "knowledge_base" (list_data)`] }
}

function searchOrder(sent: Arguments, k: number): SearchOrder {
  const mode = SEARCH_MODES.find((one: SearchMode) => one === sent.optionalText('mode'))
  const minRelevance = sent.number('min_relevance')
  const filters = sent.object('filters')
  return {
    query: sent.text('query'),
    k,
    explain: false,
    neighbours: 0,
    isPerDocument: true,
    ...definedFields({ mode, minRelevance, filters }),
  }
}

interface Found {
  readonly passages: readonly { readonly kb: KnowledgeBase; readonly passage: SearchResult }[]
  readonly warnings: readonly string[]
}

/** Names those that failed; if it is the only one, the call fails. */
async function searchAll(
  knowledgeBases: readonly KnowledgeBase[],
  order: SearchOrder,
  { uses, signal }: ToolCall,
): Promise<Found> {
  const [only] = knowledgeBases
  if (only !== undefined && knowledgeBases.length === 1) {
    const { results, warnings } = await uses.search(only, order, signal)
    return { passages: results.map((passage) => ({ kb: only, passage })), warnings }
  }
  const bounds = { concurrencyMax: AT_ONCE_MAX, signal }
  const parts = await mapConcurrent(knowledgeBases, bounds, async (kb, ended): Promise<Found> => {
    try {
      const { results, warnings } = await uses.search(kb, order, ended)
      return { passages: results.map((passage) => ({ kb, passage })), warnings }
    } catch (error) {
      ended.throwIfAborted()
      const { code, message } = toAppError(error)
      return { passages: [], warnings: [`${fullName(kb)} was not searched: ${code}: ${message}`] }
    }
  })
  return {
    passages: parts.flatMap(({ passages }) => passages),
    warnings: [...new Set(parts.flatMap(({ warnings }) => warnings))],
  }
}

function resultRecord(
  kb: KnowledgeBase,
  { id, content, metadata, relevance }: SearchResult,
  origin: string,
) {
  return {
    id: documentUri(kb.projectName, kb.name, id),
    title: documentTitle(id, metadata),
    url: linkOf(origin, kb, { id, metadata }),
    text: content.slice(0, PASSAGE_CHARS_MAX).toWellFormed(),
    knowledge_base: fullName(kb),
    relevance,
  }
}

const TEXT_CHARS_UNSET = 60_000
const FETCHED_CHARS_MAX = 500_000

/** Chat clients expect `fetch` to return `id`, `title`, `text`, `url` and `metadata`. */
export const FETCH_TOOL: Tool = {
  name: 'fetch',
  title: 'Read a document',
  description:
    'Returns the whole text of one document, by the "id" of a search result. ' +
    `Long texts are cut after ${TEXT_CHARS_UNSET} characters; continue with metadata.next_offset as "offset".`,
  needs: 'read',
  annotations: READS,
  inputSchema: takes(['id'], {
    id: {
      type: 'string',
      minLength: 1,
      maxLength: 10_000,
      description: 'The id of a search result: eider://documents/{project}/{knowledge_base}/{id}',
    },
    offset: { type: 'integer', minimum: 0, description: 'Number of characters to skip' },
    max_chars: {
      type: 'integer',
      minimum: 1,
      maximum: FETCHED_CHARS_MAX,
      description: `Maximum number of characters; default ${TEXT_CHARS_UNSET}`,
    },
  }),
  outputSchema: answers(['id', 'title', 'text', 'url', 'metadata'], {
    id: { type: 'string' },
    title: { type: 'string' },
    text: { type: 'string' },
    url: { type: 'string' },
    metadata: {
      type: 'object',
      description:
        'Columns of the document; if cut, also total_chars, offset and next_offset (null at the end)',
    },
  }),
  async run(sent, call) {
    const { uses, principal, signal, origin } = call
    const address = readEiderUri(sent.text('id'))
    if (address?.kind !== 'document') {
      const expected = 'expected the "id" of a result of search'
      throw new AppError('invalid_request', `"id" is not the id of a document: ${expected}`)
    }
    const { knowledgeBases } = visibleData(call)
    const named = `${address.project}.${address.knowledgeBase}`
    const kb = namedAmong(knowledgeBases, { named, kind: 'knowledge_base', principal })
    const document = await uses.documents.read(kb, address.id, signal)
    const { id, metadata } = document
    const whole = wholeText(document)
    const offset = sent.number('offset') ?? 0
    const end = Math.min(offset + (sent.number('max_chars') ?? TEXT_CHARS_UNSET), whole.length)
    const isPart = offset > 0 || end < whole.length
    const part = {
      total_chars: whole.length,
      offset,
      next_offset: end < whole.length ? end : null,
    }
    return {
      structured: {
        id: documentUri(kb.projectName, kb.name, id),
        title: documentTitle(id, metadata),
        text: whole.slice(offset, end).toWellFormed(),
        url: linkOf(origin, kb, { id, metadata }),
        metadata: {
          ...metadata,
          knowledge_base: fullName(kb),
          document_id: id,
          ...(isPart ? part : {}),
        },
      },
    }
  },
}
