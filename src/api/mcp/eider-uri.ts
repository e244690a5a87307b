/** Addresses of what is stored: `eider://documents/{project}/{knowledge_base}/{id}`, `eider://schemas/{namespace}/{name}`. */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { DocumentTexts } from '../../query/documents/document-changes.ts'

export type EiderUri =
  | {
      readonly kind: 'document'
      readonly project: string
      readonly knowledgeBase: string
      readonly id: string
    }
  | { readonly kind: 'schema'; readonly namespace: string; readonly name: string }

export const DOCUMENT_TEMPLATE = 'eider://documents/{project}/{knowledge_base}/{id}'
export const SCHEMA_TEMPLATE = 'eider://schemas/{namespace}/{name}'

export function documentUri(project: string, knowledgeBase: string, id: string): string {
  return `eider://documents/${[project, knowledgeBase, id].map(encodeURIComponent).join('/')}`
}

export function schemaUri(namespace: string, name: string): string {
  return `eider://schemas/${[namespace, name].map(encodeURIComponent).join('/')}`
}

/** undefined: not an address of this server. */
export function readEiderUri(text: string): EiderUri | undefined {
  const [, kind, path = ''] = /^eider:\/\/(documents|schemas)\/(.+)$/s.exec(text) ?? []
  const [first, second, ...rest] = path.split('/')
  try {
    const namespace = decodeURIComponent(first ?? '')
    const name = decodeURIComponent(second ?? '')
    if (namespace === '' || name === '') return undefined
    if (kind === 'schemas') {
      return rest.length === 0 ? { kind: 'schema', namespace, name } : undefined
    }
    // Addresses written by hand leave the slashes of an id as they are.
    const id = decodeURIComponent(rest.join('/'))
    if (kind !== 'documents' || id === '') return undefined
    return { kind: 'document', project: namespace, knowledgeBase: name, id }
  } catch {
    return undefined
  }
}

/** The title of a document. */
export function documentTitle(id: string, metadata: Readonly<Record<string, unknown>>): string {
  for (const name of ['title', 'name', 'subject']) {
    const value = metadata[name]
    if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, 300)
  }
  return id
}

/** Where people can view a document: the page it was read from, else this server's copy. */
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

/** The texts of a document as one: each of several columns under its name. */
export function wholeText({ texts }: DocumentTexts): string {
  const [only] = texts
  if (texts.length <= 1) return only?.text ?? ''
  return texts.map(({ column, text }) => `## ${column}\n\n${text}`).join('\n\n')
}
