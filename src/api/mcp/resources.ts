/** Schemas and documents as MCP resources, page by page, and completion of their URIs. */
import { mayDo, type Principal, requireScope } from '../../core/domain/access/principal.ts'
import {
  DEFAULT_CONTENT_COLUMNS,
  KNOWLEDGE_BASE_COLUMNS,
  type KnowledgeBase,
} from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { McpUses } from './tool.ts'
import {
  DOCUMENT_TEMPLATE,
  documentTitle,
  documentUri,
  namedAmong,
  readEiderUri,
  SCHEMA_TEMPLATE,
  schemaUri,
  visibleData,
  wholeText,
} from './visible-data.ts'

const PAGE_SIZE = 100
/** The longest document returned as a resource; the tool `fetch` reads longer ones in parts. */
const RESOURCE_CHARS_MAX = 1_000_000
/** The protocol's limit for one completion. */
const COMPLETIONS_MAX = 100

export interface Reader {
  readonly uses: McpUses
  readonly principal: Principal
  readonly signal: AbortSignal
}

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

/** Schemas, then each knowledge base's documents. The cursor marks the next page. */
export async function resourcePage(cursor: string | undefined, reader: Reader) {
  const { uses, principal, signal } = reader
  if (!mayDo(principal, 'read')) return { resources: [] }
  const schemas = visibleSchemas(uses, principal)
  const place = readCursor(cursor)
  if (place.kind === 'schemas') {
    const end = place.offset + PAGE_SIZE
    const resources = schemas.slice(place.offset, end).map(({ namespace, name, kind }) => ({
      uri: schemaUri(namespace, name),
      name: `${namespace}.${name}`,
      title: `Columns of ${namespace}.${name}`,
      description: `The ${kind.replace('_', ' ')} ${namespace}.${name}: its columns and size`,
      mimeType: 'application/json',
    }))
    if (end < schemas.length) return { resources, nextCursor: `s${end}` }
    const next = nextKnowledgeBase(-1, reader)
    return next === undefined ? { resources } : { resources, nextCursor: `d${next}.0` }
  }
  const kb = visibleData(uses.snapshot(principal), principal).knowledgeBases.find(
    ({ id }) => id === place.id,
  )
  const order = { limit: PAGE_SIZE, afterKey: place.afterKey, offset: 0 }
  const page =
    kb === undefined ? { items: [], next: null } : await uses.listDocuments(kb, order, signal)
  const resources = page.items.map(({ id, metadata }) => ({
    uri: documentUri(kb?.projectName ?? '', kb?.name ?? '', id),
    name: id,
    title: documentTitle(id, metadata),
    mimeType: 'text/plain',
  }))
  if (page.next !== null) return { resources, nextCursor: `d${place.id}.${page.next}` }
  const next = nextKnowledgeBase(place.id, reader)
  return next === undefined ? { resources } : { resources, nextCursor: `d${next}.0` }
}

/** By id, so that changes between two pages neither repeat nor hide others. */
function nextKnowledgeBase(after: number, { uses, principal }: Reader): number | undefined {
  const ids = visibleData(uses.snapshot(principal), principal).knowledgeBases.map(({ id }) => id)
  return ids.toSorted((a, b) => a - b).find((id) => id > after)
}

type Place =
  | { readonly kind: 'schemas'; readonly offset: number }
  | { readonly kind: 'documents'; readonly id: number; readonly afterKey: bigint }

/** @throws AppError `invalid_request` */
function readCursor(cursor: string | undefined): Place {
  if (cursor === undefined) return { kind: 'schemas', offset: 0 }
  const [, offset] = /^s(\d{1,9})$/.exec(cursor) ?? []
  if (offset !== undefined) return { kind: 'schemas', offset: Number(offset) }
  const [, id, key] = /^d(\d{1,15})\.(\d{1,18})$/.exec(cursor) ?? []
  if (id !== undefined && key !== undefined) {
    return { kind: 'documents', id: Number(id), afterKey: BigInt(key) }
  }
  throw new AppError(
    'invalid_request',
    'The cursor does not belong to this list: start without one',
  )
}

/** @throws AppError `forbidden`, `…_not_found`, or `invalid_request` for an invalid URI */
export async function readResource(uri: string, { uses, principal, signal }: Reader) {
  requireScope(principal, 'read')
  const address = readEiderUri(uri)
  if (address === undefined) {
    const expected = `${SCHEMA_TEMPLATE} or ${DOCUMENT_TEMPLATE}`
    throw new AppError(
      'invalid_request',
      `This is not the address of a resource: expected ${expected}`,
    )
  }
  if (address.kind === 'schema') {
    const schema = schemaNamed(visibleSchemas(uses, principal), address)
    if (schema === undefined) throw notFound('table', `${address.namespace}.${address.name}`)
    const text = JSON.stringify(await schema.read(), null, 2)
    return { contents: [{ uri, mimeType: 'application/json', text }] }
  }
  const { knowledgeBases } = visibleData(uses.snapshot(principal), principal)
  const named = `${address.project}.${address.knowledgeBase}`
  const kb = namedAmong(knowledgeBases, { named, kind: 'knowledge_base', principal })
  const text = wholeText(await uses.readDocument(kb, address.id, signal))
  const isCut = text.length > RESOURCE_CHARS_MAX
  const shown = isCut ? text.slice(0, RESOURCE_CHARS_MAX).toWellFormed() : text
  const note = isCut ? `\n\n[Cut at ${RESOURCE_CHARS_MAX} characters: use fetch to read on]` : ''
  return { contents: [{ uri, mimeType: 'text/plain', text: `${shown}${note}` }] }
}

/** The argument's name, the text typed so far, and the arguments before it. */
interface Completed {
  readonly name: string
  readonly value: string
  readonly given: Readonly<Record<string, string>>
}

/** Values that start with the typed text. */
export async function completionOf({ name, value, given }: Completed, reader: Reader) {
  const all = await completionValues({ name, value, given }, reader)
  const begins = all.filter((one) => nameKey(one).startsWith(nameKey(value)))
  const values = [...new Set(begins)]
  return {
    completion: {
      values: values.slice(0, COMPLETIONS_MAX),
      total: values.length,
      hasMore: values.length > COMPLETIONS_MAX,
    },
  }
}

async function completionValues(
  { name, value, given }: Completed,
  { uses, principal, signal }: Reader,
): Promise<readonly string[]> {
  const data = visibleData(uses.snapshot(principal), principal)
  const isRead = mayDo(principal, 'read')
  switch (name) {
    case 'project':
      return data.projects.map((project) => project.name)
    case 'namespace':
      return [...new Set(visibleNames(uses, principal, isRead).map(({ namespace }) => namespace))]
    case 'name':
      return visibleNames(uses, principal, isRead).flatMap((schema) => {
        const isThere = given.namespace === undefined || schema.namespace === given.namespace
        return isThere ? [schema.name] : []
      })
    case 'agent':
      return data.agents.map((agent) => `${agent.projectName}.${agent.name}`)
    case 'knowledge_base': {
      // In a resource URI, the project comes first; in a prompt, it is part of the name.
      const { project } = given
      if (project === undefined)
        return data.knowledgeBases.map((kb) => `${kb.projectName}.${kb.name}`)
      return data.knowledgeBases.flatMap((kb) => (kb.projectName === project ? [kb.name] : []))
    }
    case 'id': {
      const kb = data.knowledgeBases.find((one) => {
        return one.projectName === given.project && one.name === given.knowledge_base
      })
      if (kb === undefined) return []
      const order = { limit: COMPLETIONS_MAX, afterKey: 0n, offset: 0 }
      const searched = value === '' ? {} : { searched: value }
      const page = await uses.listDocuments(kb, { ...order, ...searched }, signal)
      return page.items.map(({ id }) => id)
    }
    default:
      return []
  }
}

function visibleNames(uses: McpUses, principal: Principal, isRead: boolean) {
  return isRead ? visibleSchemas(uses, principal) : []
}

export function contentColumnsOf(kb: KnowledgeBase): readonly string[] {
  return kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS
}

interface NamedSchema {
  readonly namespace: string
  readonly name: string
  readonly kind: 'knowledge_base' | 'table' | 'view' | 'file'
  read(): Promise<Readonly<Record<string, unknown>>>
}

/** All objects whose columns are known without asking a remote server. */
function visibleSchemas(uses: McpUses, principal: Principal): readonly NamedSchema[] {
  const data = visibleData(uses.snapshot(principal), principal)
  const plain = (record: Readonly<Record<string, unknown>>) => async () => record
  return [
    ...data.knowledgeBases.map((kb): NamedSchema => {
      const { projectName: namespace, name } = kb
      return { namespace, name, kind: 'knowledge_base', read: () => knowledgeBaseSchema(kb, uses) }
    }),
    ...data.tables.map(({ projectName: namespace, name, columns, rowCount }): NamedSchema => {
      const read = plain({ kind: 'table', name: `${namespace}.${name}`, columns, rows: rowCount })
      return { namespace, name, kind: 'table', read }
    }),
    ...data.views.map(({ projectName: namespace, name, columns }): NamedSchema => {
      const read = plain({ kind: 'view', name: `${namespace}.${name}`, columns })
      return { namespace, name, kind: 'view', read }
    }),
    ...data.files.map(({ name, columns, rowCount }): NamedSchema => {
      const named = columns.map((column) => ({ name: column }))
      const record = { kind: 'file', name: `${FILES_DATABASE}.${name}`, columns: named }
      const read = plain({ ...record, rows: rowCount })
      return { namespace: FILES_DATABASE, name, kind: 'file', read }
    }),
  ]
}

export function schemaNamed(
  schemas: readonly NamedSchema[],
  { namespace, name }: { readonly namespace: string; readonly name: string },
): NamedSchema | undefined {
  return schemas.find((schema) => {
    return (
      nameKey(schema.namespace) === nameKey(namespace) && nameKey(schema.name) === nameKey(name)
    )
  })
}

async function knowledgeBaseSchema(
  kb: KnowledgeBase,
  uses: McpUses,
): Promise<Readonly<Record<string, unknown>>> {
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
