/** Addresses of what is stored: `eider://documents/{project}/{knowledge_base}/{id}`, `eider://schemas/{namespace}/{name}`. */

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

/** undefined: it is none of ours. */
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
    // Whoever writes an address by hand leaves the slashes of an id as they are.
    const id = decodeURIComponent(rest.join('/'))
    if (kind !== 'documents' || id === '') return undefined
    return { kind: 'document', project: namespace, knowledgeBase: name, id }
  } catch {
    return undefined
  }
}
