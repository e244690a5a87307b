/** What is typed for a new knowledge base, what it means for the server, and to which field an answer of the server belongs. */
import type { KnowledgeBaseDefinition } from '../../api/knowledge-bases.ts'
import { ApiError } from '../../api/request.ts'

export interface Draft {
  readonly project: string
  readonly name: string
  readonly contentColumns: string
  readonly metadataColumns: string
  readonly idColumn: string
  readonly language: string
  readonly provider: string
  readonly model: string
  readonly apiKey: string
  readonly baseUrl: string
  readonly chunkSize: string
  readonly chunkOverlap: string
}

export const EMPTY_DRAFT: Draft = {
  project: 'mindsdb',
  name: '',
  contentColumns: '',
  metadataColumns: '',
  idColumn: '',
  language: '',
  provider: '',
  model: '',
  apiKey: '',
  baseUrl: '',
  chunkSize: '',
  chunkOverlap: '',
}

/** What is left empty is not sent: the server's default holds. */
export function definitionOf(draft: Draft): KnowledgeBaseDefinition {
  const content = namesIn(draft.contentColumns)
  const metadata = namesIn(draft.metadataColumns)
  const chunking = {
    ...(draft.chunkSize === '' ? {} : { chunk_size: Number(draft.chunkSize) }),
    ...(draft.chunkOverlap === '' ? {} : { chunk_overlap: Number(draft.chunkOverlap) }),
  }
  return {
    name: draft.name.trim(),
    ...(content.length === 0 ? {} : { content_columns: content }),
    ...(metadata.length === 0 ? {} : { metadata_columns: metadata }),
    ...(draft.idColumn.trim() === '' ? {} : { id_column: draft.idColumn.trim() }),
    ...(draft.language === '' ? {} : { language: draft.language }),
    ...(draft.provider === '' ? {} : { embedding_model: modelOf(draft) }),
    ...(Object.keys(chunking).length === 0
      ? {}
      : { preprocessing: { type: 'auto', auto_config: chunking } }),
  }
}

function modelOf({ provider, model, apiKey, baseUrl }: Draft) {
  return {
    provider,
    model_name: model.trim(),
    ...(apiKey === '' ? {} : { api_key: apiKey }),
    ...(baseUrl.trim() === '' ? {} : { base_url: baseUrl.trim() }),
  }
}

function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

export type DraftField = Exclude<keyof Draft, 'project'>

/** By the words of the server's messages, the first that fits. */
const FIELD_WORDS: readonly (readonly [RegExp, DraftField])[] = [
  [/metadata_columns/, 'metadataColumns'],
  [/content_columns/, 'contentColumns'],
  [/id_column/, 'idColumn'],
  [/chunk_overlap/, 'chunkOverlap'],
  [/chunk_size/, 'chunkSize'],
  [/language/i, 'language'],
  [/api_key/i, 'apiKey'],
  [/base_url|address/i, 'baseUrl'],
  [/model_name/i, 'model'],
  [/provider|embedding/i, 'provider'],
]

/** Undefined: it is about none of them alone. */
export function fieldOf(failure: Error): DraftField | undefined {
  if (!(failure instanceof ApiError) || failure.status < 400 || failure.status > 499) return
  if (failure.code === 'invalid_name' || failure.code === 'knowledge_base_exists') return 'name'
  return FIELD_WORDS.find(([words]) => words.test(failure.message))?.[1]
}
