/** Schemas and documents as MCP resources. */
import { mayDo, requireScope } from '../../core/domain/access/principal.ts'
import { KNOWLEDGE_BASE_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpUses, ToolCall } from './tool.ts'
import {
  contentColumnsOf,
  cursorOffset,
  DOCUMENT_TEMPLATE,
  namedAmong,
  type Relation,
  readEiderUri,
  relationsOf,
  SCHEMA_TEMPLATE,
  schemaUri,
  visibleData,
  wholeText,
} from './visible-data.ts'

const PAGE_SIZE = 100
/** The longest document returned as a resource; the tool `fetch` reads longer ones in parts. */
const RESOURCE_CHARS_MAX = 1_000_000

export type Reader = Pick<ToolCall, 'uses' | 'principal' | 'signal'>

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: SCHEMA_TEMPLATE,
    name: 'schema',
    title: 'Columns of a knowledge base, table, view or file',
    description: 'namespace: a project, or "files". As JSON, with sizes and how to search it',
    mimeType: 'application/json',
  },
  {
    uriTemplate: DOCUMENT_TEMPLATE,
    name: 'document',
    title: 'A document of a knowledge base',
    description: 'The whole text; search returns ids',
    mimeType: 'text/plain',
  },
]

/** The schemas. Documents are too many for a list: `search` finds them, with their URIs. */
export function resourcePage(cursor: string | undefined, reader: Reader) {
  const start = cursorOffset(cursor)
  if (!mayDo(reader.principal, 'read')) return { resources: [] }
  const schemas = relationsOf(visibleData(reader))
  const end = start + PAGE_SIZE
  const resources = schemas.slice(start, end).map(({ namespace, name, kind }) => ({
    uri: schemaUri(namespace, name),
    name: `${namespace}.${name}`,
    title: `Columns of ${namespace}.${name}`,
    description: `The ${kind.replace('_', ' ')} ${namespace}.${name}: its columns and size`,
    mimeType: 'application/json',
  }))
  return end < schemas.length ? { resources, nextCursor: String(end) } : { resources }
}

/** @throws AppError `forbidden`, `…_not_found`, or `invalid_request` for an invalid URI */
export async function readResource(uri: string, reader: Reader) {
  const { uses, principal, signal } = reader
  requireScope(principal, 'read')
  const address = readEiderUri(uri)
  if (address === undefined) {
    const expected = `${SCHEMA_TEMPLATE} or ${DOCUMENT_TEMPLATE}`
    const message = `This is not the address of a resource: expected ${expected}`
    throw new AppError('invalid_request', message)
  }
  if (address.kind === 'schema') {
    const wanted = nameKey(`${address.namespace}.${address.name}`)
    const relation = relationsOf(visibleData(reader)).find(({ namespace, name }) => {
      return nameKey(`${namespace}.${name}`) === wanted
    })
    if (relation === undefined) throw notFound('table', `${address.namespace}.${address.name}`)
    const text = JSON.stringify(await schemaRecord(relation, uses), null, 2)
    return { contents: [{ uri, mimeType: 'application/json', text }] }
  }
  const { knowledgeBases } = visibleData(reader)
  const named = `${address.project}.${address.knowledgeBase}`
  const kb = namedAmong(knowledgeBases, { named, kind: 'knowledge_base', principal })
  const text = wholeText(await uses.documents.read(kb, address.id, signal))
  const isCut = text.length > RESOURCE_CHARS_MAX
  const shown = isCut ? text.slice(0, RESOURCE_CHARS_MAX).toWellFormed() : text
  const note = isCut ? `\n\n[Cut at ${RESOURCE_CHARS_MAX} characters: use fetch to read on]` : ''
  return { contents: [{ uri, mimeType: 'text/plain', text: `${shown}${note}` }] }
}

async function schemaRecord({ kb, ...relation }: Relation, uses: McpUses): Promise<JsonObject> {
  const { kind, namespace, name, ...shown } = relation
  return kb === undefined
    ? { kind, name: `${namespace}.${name}`, ...shown }
    : await knowledgeBaseSchema(kb, uses)
}

async function knowledgeBaseSchema(kb: KnowledgeBase, uses: McpUses): Promise<JsonObject> {
  return {
    kind: 'knowledge_base',
    name: `${kb.projectName}.${kb.name}`,
    ...(await uses.sizeOf(kb)),
    content_columns: contentColumnsOf(kb),
    metadata_columns: kb.storedMetadata.map(({ name, type }) => ({ name, type })),
    columns: KNOWLEDGE_BASE_COLUMNS,
    language: kb.language,
    updated_at: kb.updatedAt,
    how_to_search: `SELECT id, chunk_content, relevance FROM ${kb.projectName}.${kb.name} WHERE content = 'words' LIMIT 10`,
  }
}
