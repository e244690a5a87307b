/** The part of the catalog a principal may see, and the names MCP clients use for it. */

import {
  mayDo,
  mayName,
  type Principal,
  requireNamespace,
} from '../../core/domain/access/principal.ts'
import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { DEFAULT_PROJECT, FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import { tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { DocumentTexts } from '../../query/documents/document-changes.ts'
import type { ToolCall } from './tool.ts'

export type VisibleData = ReturnType<typeof visibleData>

export function visibleData({ uses, principal }: Pick<ToolCall, 'uses' | 'principal'>) {
  const snapshot = uses.catalogFor(principal).catalog.snapshot()
  const isRead = mayDo(principal, 'read')
  const isAsked = isRead || mayDo(principal, 'ask')
  const read = <T>(things: readonly T[]): readonly T[] => (isRead ? things : [])
  return {
    projects: snapshot.projects,
    knowledgeBases: read(snapshot.knowledgeBases),
    agents: isAsked ? snapshot.agents : [],
    tables: read(snapshot.tables),
    views: read(snapshot.views),
    files: read(snapshot.files).flatMap(tablesOfFile),
    dataSources: read(snapshot.dataSources),
  }
}

/** Something with columns that are known without asking a remote server. */
export interface Relation {
  readonly kind: 'knowledge_base' | 'table' | 'view' | 'file'
  readonly namespace: string
  readonly name: string
  /** Of a knowledge base, the metadata columns. */
  readonly columns: readonly { readonly name: string; readonly type?: string }[]
  /** Unset for a view and a knowledge base. */
  readonly rows?: number
  readonly kb?: KnowledgeBase
}

export function relationsOf(data: VisibleData): readonly Relation[] {
  return [
    ...data.knowledgeBases.map((kb): Relation => {
      const { projectName: namespace, name, storedMetadata } = kb
      const columns = storedMetadata.map(({ name, type }) => ({ name, type }))
      return { kind: 'knowledge_base', namespace, name, columns, kb }
    }),
    ...data.tables.map(({ projectName: namespace, name, columns, rowCount }): Relation => {
      return { kind: 'table', namespace, name, columns, rows: rowCount }
    }),
    ...data.views.map(({ projectName: namespace, name, columns }): Relation => {
      return { kind: 'view', namespace, name, columns }
    }),
    ...data.files.map(({ name, columns: names, rowCount }): Relation => {
      const columns = names.map((column) => ({ name: column }))
      return { kind: 'file', namespace: FILES_DATABASE, name, columns, rows: rowCount }
    }),
  ]
}

/** Where a page starts in its list. @throws AppError `invalid_request` */
export function cursorOffset(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor)
  const message = 'The cursor does not belong to this list: start without one'
  throw new AppError('invalid_request', message)
}

export function contentColumnsOf(kb: KnowledgeBase): readonly string[] {
  return kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS
}

/** Among those visible. @throws AppError `forbidden` for a project, existing or not */
export function namedAmong<T extends { readonly name: string; readonly projectName: string }>(
  things: readonly T[],
  given: {
    readonly named: string
    readonly kind: 'knowledge_base' | 'agent'
    readonly principal: Principal
  },
): T {
  const { named, kind, principal } = given
  const dot = named.indexOf('.')
  const project = dot < 0 ? defaultProject(principal) : named.slice(0, dot)
  const name = named.slice(dot + 1)
  requireNamespace(principal, project)
  const found = things.find((thing) => {
    return nameKey(thing.projectName) === nameKey(project) && nameKey(thing.name) === nameKey(name)
  })
  if (found === undefined) throw notFound(kind, named.slice(0, 200))
  return found
}

/** The project for unqualified names. */
export function defaultProject(principal: Principal): string {
  if (mayName(principal, DEFAULT_PROJECT)) return DEFAULT_PROJECT
  const [first = DEFAULT_PROJECT] = principal.namespaces ?? []
  return first
}

/** `eider://documents/{project}/{knowledge_base}/{id}`, `eider://schemas/{namespace}/{name}`. */

export const DOCUMENT_TEMPLATE = 'eider://documents/{project}/{knowledge_base}/{id}'
export const SCHEMA_TEMPLATE = 'eider://schemas/{namespace}/{name}'

export function documentUri(project: string, knowledgeBase: string, id: string): string {
  return `eider://documents/${[project, knowledgeBase, id].map(encodeURIComponent).join('/')}`
}

export function schemaUri(namespace: string, name: string): string {
  return `eider://schemas/${[namespace, name].map(encodeURIComponent).join('/')}`
}

/** Returns undefined for a URI of another form. */
export function readEiderUri(text: string) {
  const [, kind, path = ''] = /^eider:\/\/(documents|schemas)\/(.+)$/s.exec(text) ?? []
  const [first, second, ...rest] = path.split('/')
  try {
    const namespace = decodeURIComponent(first ?? '')
    const name = decodeURIComponent(second ?? '')
    if (namespace === '' || name === '') return undefined
    if (kind === 'schemas') {
      return rest.length === 0 ? { kind: 'schema' as const, namespace, name } : undefined
    }
    // URIs written by hand may leave the slashes of an id unescaped.
    const id = decodeURIComponent(rest.join('/'))
    if (kind !== 'documents' || id === '') return undefined
    return { kind: 'document' as const, project: namespace, knowledgeBase: name, id }
  } catch {
    return undefined
  }
}

export function documentTitle(id: string, metadata: Readonly<Record<string, unknown>>): string {
  for (const name of ['title', 'name', 'subject']) {
    const value = metadata[name]
    if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, 300)
  }
  return id
}

/** Where people can read a document: its original page, or this server's copy. */
export function linkOf(
  origin: string,
  kb: KnowledgeBase,
  { id, metadata }: { readonly id: string; readonly metadata: Readonly<Record<string, unknown>> },
): string {
  for (const value of [metadata.url, metadata.source_url, metadata.link, id]) {
    if (typeof value === 'string' && /^https?:\/\/[^\s]+$/i.test(value)) return value
  }
  const path = [...['projects', kb.projectName, 'knowledge_bases', kb.name, 'documents', id]].map(
    encodeURIComponent,
  )
  return `${origin}/api/${path.join('/')}`
}

/** All texts of a document as one; if there are several columns, each under its name. */
export function wholeText({ texts }: DocumentTexts): string {
  const [only] = texts
  if (texts.length <= 1) return only?.text ?? ''
  return texts.map(({ column, text }) => `## ${column}\n\n${text}`).join('\n\n')
}
