/** Documents as clients are shown them. */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { DocumentTexts } from './mcp-uses.ts'

/** What a document is called. */
export function documentTitle(id: string, metadata: Readonly<Record<string, unknown>>): string {
  for (const name of ['title', 'name', 'subject']) {
    const value = metadata[name]
    if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, 300)
  }
  return id
}

/** Where people can look at a document: the page that it was read from, else what this server has of it. */
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
