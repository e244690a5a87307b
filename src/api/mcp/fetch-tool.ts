import { fullName } from '../../core/domain/project.ts'
import { AppError } from '../../core/errors.ts'
import { documentTitle, documentUri, linkOf, readEiderUri, wholeText } from './eider-uri.ts'
import { answers, READS, type Tool, takes } from './tool.ts'
import { namedAmong, visibleData } from './visible-data.ts'

const TEXT_CHARS_UNSET = 60_000
const FETCHED_CHARS_MAX = 500_000

/** `id`, `title`, `text`, `url` and `metadata` is what chat clients expect of a tool of this name. */
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
    offset: { type: 'integer', minimum: 0, description: 'Characters to leave out' },
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
  async run(sent, { uses, principal, signal, origin }) {
    const address = readEiderUri(sent.text('id'))
    if (address?.kind !== 'document') {
      const expected = 'expected the "id" of a result of search'
      throw new AppError('invalid_request', `"id" names no document: ${expected}`)
    }
    const { knowledgeBases } = visibleData(uses.snapshot(principal), principal)
    const named = `${address.project}.${address.knowledgeBase}`
    const kb = namedAmong(knowledgeBases, { named, kind: 'knowledge_base', principal })
    const document = await uses.readDocument(kb, address.id, signal)
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
