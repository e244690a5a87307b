import type { KnowledgeBase, KnowledgeBaseDraft } from '../../src/core/domain/knowledge-base.ts'

/** A new knowledge base with every default, before it is stored. */
export function knowledgeBaseDraft(changes: Partial<KnowledgeBaseDraft> = {}): KnowledgeBaseDraft {
  const name = changes.name ?? 'kb'
  return {
    name,
    projectId: 1,
    vectorDatabase: 'duckdb',
    vectorDatabaseTable: name,
    embeddingModel: { provider: 'builtin', modelName: 'test', options: {} },
    rerankingModel: null,
    contentColumns: null,
    metadataColumns: null,
    idColumn: null,
    preprocessing: {
      type: 'text_chunking',
      chunkSizeChars: 1000,
      chunkOverlapChars: 200,
      sent: null,
    },
    params: {},
    dimensions: null,
    ...changes,
  }
}

/** The same knowledge base as the catalog returns it when it has no rows. */
export function knowledgeBase(changes: Partial<KnowledgeBase> = {}): KnowledgeBase {
  return {
    ...knowledgeBaseDraft({ name: changes.name ?? 'kb' }),
    id: 1,
    search: { isHybrid: false, alpha: null, fusion: 'convex', hasFeedback: false },
    language: 'english',
    nextLanguage: null,
    hasOlderTerms: false,
    isLanguageKnown: false,
    projectName: 'mindsdb',
    crawlWarnings: [],
    storedMetadata: [],
    vectorIndex: null,
    vectorsNumber: 0,
    nextEmbeddingModel: null,
    revision: 0,
    createdAt: '',
    updatedAt: '',
    ...changes,
  }
}
