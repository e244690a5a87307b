import type { Row, RowValue } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName, nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { answers, type Tool, takes } from './tool.ts'
import { contentColumnsOf, namedAmong, visibleData } from './visible-data.ts'

const DOCUMENTS_MAX = 100
const CONTENT_CHARS_MAX = 1_000_000

export const ADD_DOCUMENTS_TOOL: Tool = {
  name: 'add_documents',
  title: 'Add documents',
  description:
    'Stores texts in a knowledge base, where search finds them at once. A document with an existing "id" replaces the old one; ' +
    'without an id, it gets one derived from its content. "metadata" becomes columns for filters. All documents of a call are stored, or none.',
  needs: 'write',
  annotations: {
    readOnlyHint: false,
    // It replaces a document with the same id.
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  inputSchema: takes(['knowledge_base', 'documents'], {
    knowledge_base: {
      type: 'string',
      minLength: 1,
      description: '"project.name"; a name alone means the default project. It must exist',
    },
    documents: {
      type: 'array',
      minItems: 1,
      maxItems: DOCUMENTS_MAX,
      items: {
        type: 'object',
        properties: {
          id: { type: 'string', minLength: 1, maxLength: 1_000 },
          content: { type: 'string', minLength: 1, maxLength: CONTENT_CHARS_MAX },
          metadata: { type: 'object' },
        },
        required: ['content'],
        additionalProperties: false,
      },
    },
  }),
  outputSchema: answers(['knowledge_base', 'documents', 'state'], {
    knowledge_base: { type: 'string' },
    documents: { type: 'integer', description: 'Number of accepted documents' },
    state: { type: 'string', enum: ['stored', 'running'] },
    job_id: { type: 'integer', description: 'If it takes longer, follow GET /api/jobs/{id}' },
  }),
  async run(sent, { uses, principal, signal }) {
    // Writing does not require the right to read; the right to use the name is enough.
    const reader = { ...principal, scopes: new Set(['read'] as const) }
    const { knowledgeBases } = visibleData({ uses, principal: reader })
    const named = sent.text('knowledge_base')
    const kb = namedAmong(knowledgeBases, { named, kind: 'knowledge_base', principal })
    const rows = sent.objects('documents').map((document) => documentRow(kb, document))
    const crawl = { allowedDomains: [], patterns: [] }
    const { job } = await uses.insert({ kb, rows, crawl }, signal)
    const stored = { knowledge_base: fullName(kb), documents: rows.length }
    return {
      structured:
        job === null
          ? { ...stored, state: 'stored' }
          : { ...stored, state: 'running', job_id: job.id },
    }
  },
}

/** @throws AppError `invalid_request` for metadata named like another column */
function documentRow(kb: KnowledgeBase, document: JsonObject): Row {
  const [content = 'content'] = contentColumnsOf(kb)
  const idColumn = kb.idColumn ?? 'id'
  const metadata = (document.metadata ?? {}) as Readonly<Record<string, RowValue>>
  for (const name of Object.keys(metadata)) {
    if (nameKey(name) !== nameKey(content) && nameKey(name) !== nameKey(idColumn)) continue
    const message = `"metadata" of a document must not contain "${name}": that is ${nameKey(name) === nameKey(content) ? 'its content' : 'its id'}`
    throw new AppError('invalid_request', message)
  }
  const id = typeof document.id === 'string' ? { [idColumn]: document.id } : {}
  return { ...metadata, ...id, [content]: String(document.content) }
}
