/** Schemas of knowledge bases, their documents and searches. */
import { t } from 'elysia'
import { SEARCH_MODES } from '../../../../core/domain/hybrid-search.ts'
import { MAP_STAGES } from '../../../../core/domain/ports/search-ports.ts'
import {
  COUNT,
  FIELDS,
  integer,
  maybe,
  named,
  oneOf,
  orNull,
  TEXTS,
  TIME,
  TIME_OR_NULL,
} from '../../request/schema-words.ts'

export const SHOWN_MODEL = t.Object(
  {
    provider: t.String(),
    model_name: t.String(),
    api_key: t.String({ description: '`******` if a key is stored, else empty' }),
    base_url: t.Optional(t.String()),
  },
  {
    $id: 'ShownModel',
    description: 'A model with its options, secrets masked',
    additionalProperties: true,
    examples: [{ provider: 'builtin', model_name: 'all-MiniLM-L6-v2', api_key: '' }],
  },
)

const PARAMS = t.Object(
  {
    created_embedding_model: t.Optional(t.String()),
    preprocessing: t.Optional(t.Record(t.String(), t.Unknown(), { description: 'As sent' })),
    warnings: t.Optional(t.Array(t.String(), { description: 'Problems in the definition' })),
    language: t.Optional(t.String({ description: 'The content’s language, for keyword search' })),
    hybrid_search: t.Optional(t.Boolean()),
    hybrid_search_alpha: t.Optional(t.Number()),
    hybrid_search_fusion: t.Optional(t.String()),
    hybrid_search_feedback: t.Optional(t.Boolean()),
    keyword_index: t.Optional(t.Object({ language: t.String(), next_language: t.String() })),
    reembedding: t.Optional(
      t.Object(
        {
          provider: t.String(),
          model_name: t.String(),
          done: t.Optional(COUNT),
          total: t.Optional(COUNT),
          error: t.Optional(t.String()),
        },
        { description: 'The change of embedding model in progress' },
      ),
    ),
  },
  { $id: 'KnowledgeBaseParams', additionalProperties: true },
)

export const KNOWLEDGE_BASE = t.Object(
  {
    id: integer(),
    name: t.String(),
    project_id: integer(),
    project_name: t.String(),
    vector_database: t.String(),
    vector_database_table: t.String(),
    updated_at: TIME,
    created_at: TIME,
    query_id: orNull(integer(), { description: 'The job of the last insert' }),
    insert_started_at: t.Optional(TIME_OR_NULL),
    insert_finished_at: t.Optional(TIME_OR_NULL),
    processed_rows: t.Optional(COUNT),
    insert_skipped_rows: t.Optional(COUNT),
    insert_embedded_chunks: t.Optional(COUNT),
    insert_error: maybe(t.String()),
    embedding_model: SHOWN_MODEL,
    reranking_model: orNull(SHOWN_MODEL),
    metadata_columns: TEXTS,
    metadata_types: t.Record(t.String(), t.String(), {
      description: 'The SQL type of each metadata column',
    }),
    content_columns: TEXTS,
    id_column: t.String(),
    params: PARAMS,
  },
  {
    $id: 'KnowledgeBase',
    description: 'Documents that can be searched by meaning and by keywords',
    examples: [
      {
        id: 2,
        name: 'teas',
        project_id: 1,
        project_name: 'mindsdb',
        vector_database: 'eider',
        vector_database_table: 'teas',
        updated_at: '2026-04-30 12:00:00.000000',
        created_at: '2026-04-30 12:00:00.000000',
        query_id: null,
        embedding_model: { provider: 'builtin', model_name: 'all-MiniLM-L6-v2', api_key: '' },
        reranking_model: null,
        metadata_columns: ['price'],
        metadata_types: { price: 'BIGINT' },
        content_columns: ['content'],
        id_column: 'id',
        params: { created_embedding_model: 'kb_embedding_teas', language: 'english' },
      },
    ],
  },
)

export const INSERT_FILES_RESULT = named('InsertFilesResult', {
  files: t.Array(
    named('InsertedFile', {
      name: t.String(),
      format: t.String(),
      file_hash: t.String({ description: 'SHA-256 of the bytes' }),
      documents: COUNT,
      chunks: COUNT,
      skipped_rows: COUNT,
      warnings: TEXTS,
    }),
  ),
  failed: t.Array(
    named('FailedFile', 'A file that could not be stored', {
      name: t.String(),
      code: t.String(),
      detail: t.String(),
    }),
  ),
})

export const PREVIEWED_CHUNK = named('PreviewedChunk', {
  chunk_id: t.String(),
  content: t.String(),
  start: COUNT,
  end: COUNT,
  tokens: orNull(COUNT, { description: 'Number of tokens, or null if unknown' }),
  embedded: t.String({ description: 'The text to embed' }),
  source: t.String(),
  metadata: FIELDS,
})

export const PREVIEW = named('Preview', {
  chunks: t.Array(PREVIEWED_CHUNK),
  total: COUNT,
  tokens_max: orNull(COUNT, { description: 'Number of tokens that the embedding model reads' }),
  warnings: TEXTS,
})

const STORED_DOCUMENT = {
  id: t.String(),
  title: orNull(t.String()),
  metadata: FIELDS,
  chunk_count: COUNT,
  characters: COUNT,
  content_columns: TEXTS,
}

const DOCUMENT_EXAMPLE = {
  id: '1',
  title: null,
  metadata: { price: 9 },
  chunk_count: 1,
  characters: 50,
  content_columns: ['content'],
}

export const DOCUMENT = t.Object(STORED_DOCUMENT, { $id: 'Document', examples: [DOCUMENT_EXAMPLE] })

export const DOCUMENT_CHUNK = named('DocumentChunk', {
  chunk_id: t.String(),
  content_column: t.String(),
  start_char: COUNT,
  end_char: COUNT,
  source: t.String({ description: 'The preprocessor, such as `JSONChunkingPreprocessor`' }),
  metadata: FIELDS,
})

export const DOCUMENT_TEXTS = named('DocumentTexts', {
  ...STORED_DOCUMENT,
  content: t.Record(t.String(), t.String(), { description: 'The text of each content column' }),
  exact: t.Boolean({ description: 'Whether the texts are exactly as they were inserted' }),
  chunks: t.Array(DOCUMENT_CHUNK),
})

const PAGE = {
  total: COUNT,
  next: orNull(t.String(), { description: 'The `cursor` of the next page, or null' }),
}

export const DOCUMENT_LIST = named('DocumentList', { items: t.Array(DOCUMENT), ...PAGE })

export const CHUNK_LIST = named('ChunkList', {
  items: t.Array(
    named('Chunk', {
      id: t.String({ description: 'The id of the document' }),
      chunk_id: t.String(),
      chunk_content: t.String(),
      metadata: FIELDS,
      vector: t.Optional(
        t.String({
          description: 'Base64 of little-endian 32-bit floats',
          contentEncoding: 'base64',
        }),
      ),
    }),
  ),
  ...PAGE,
})

export const DELETED_DOCUMENTS = named('DeletedDocuments', { deleted: COUNT, chunks: COUNT })

export const IMPORT_RESULT = named('ImportResult', {
  knowledge_base: t.String(),
  created: t.Boolean(),
  documents: COUNT,
  chunks: COUNT,
})

const NEIGHBOUR = named('NeighbourChunk', { chunk_id: t.String(), chunk_content: t.String() })

const RANK = { rank: integer({ minimum: 1 }) }

const SEARCH_RESULT = t.Object(
  {
    id: t.String({ description: 'The id of the document' }),
    chunk_id: t.String(),
    chunk_content: t.String(),
    metadata: FIELDS,
    relevance: orNull(t.Number(), { description: '0 to 1, or null if not measured' }),
    distance: orNull(t.Number()),
    ...RANK,
    explain: t.Optional(
      named('ResultExplanation', 'Ranks; null if not among the best by that measure', {
        vector: orNull(t.Object({ ...RANK, distance: t.Number() })),
        keyword: orNull(t.Object({ ...RANK, score: t.Number() })),
        fusion: orNull(t.Object({ ...RANK, relevance: t.Number() })),
        reranker: orNull(
          t.Object({ score: t.Number(), rank_before: orNull(integer({ minimum: 1 })) }),
        ),
      }),
    ),
    highlights: t.Optional(
      t.Array(t.Array(COUNT, { minItems: 2, maxItems: 2 }), {
        description: 'Start and end of each query word in the content, in UTF-16 units',
      }),
    ),
    neighbours: t.Optional(t.Object({ before: t.Array(NEIGHBOUR), after: t.Array(NEIGHBOUR) })),
  },
  {
    $id: 'SearchResult',
    examples: [
      {
        id: '3',
        chunk_id: '3:content:1of1:0to67',
        chunk_content: 'Rooibos is a red herbal infusion from South Africa without caffeine',
        metadata: { price: 5 },
        relevance: 0.62,
        distance: 0.61,
        rank: 1,
      },
    ],
  },
)

export const SEARCH_ANSWER = named('SearchAnswer', {
  results: t.Array(SEARCH_RESULT),
  answerable: t.Optional(
    t.Number({ description: 'Likelihood that the results answer the query, 0 to 1' }),
  ),
  warnings: t.Optional(TEXTS),
  explain: t.Optional(
    named('SearchExplanation', {
      mode: oneOf(SEARCH_MODES, { $id: 'SearchMode' }),
      reranked: t.Boolean(),
      feedback: t.Boolean(),
      sql: orNull(t.String(), { description: 'An equivalent SQL statement' }),
      access: t.Object({ kind: oneOf(['memory', 'scan']), detail: t.String() }),
      ms: t.Object(
        {
          plan: t.Number(),
          embed: t.Number(),
          candidates: t.Number(),
          rerank: t.Number(),
          rows: t.Number(),
          total: t.Number(),
        },
        { description: 'Milliseconds per stage; stages can overlap' },
      ),
    }),
  ),
})

const REGION = t.Object({
  level: integer({
    description: '0 for the largest regions; higher levels are smaller',
  }),
  parent: orNull(integer({ description: 'Index of the parent region' })),
  x: integer(),
  y: integer(),
  point_count: COUNT,
  words: t.Array(t.String(), { description: 'Words that distinguish the region, best first' }),
})

export const MAP = named('Map', 'Chunks as points; coordinates go from 0 to 65535', {
  state: oneOf(['empty', 'computing', 'ready', 'failed']),
  progress: orNull(
    t.Object({
      stage: oneOf(MAP_STAGES),
      share: t.Number({ description: 'Fraction done, 0 to 1' }),
    }),
    { description: 'Progress of the map being computed; an older one may exist' },
  ),
  error: orNull(t.String(), { description: 'Why the last attempt failed' }),
  reembedding: t.Boolean({
    description: 'Whether the embedding model is being changed; the map then shows the old vectors',
  }),
  map: orNull(
    t.Object({
      version: t.String({ description: 'Send this with requests about points' }),
      current: t.Boolean({ description: 'Whether the map shows the current documents' }),
      revision: integer(),
      embedding_model: t.String(),
      point_count: COUNT,
      chunk_count: COUNT,
      seconds: t.Number({ description: 'Time it took to compute the map' }),
      regions: t.Array(REGION),
    }),
  ),
})

export const MAP_VALUES = named('MapValues', {
  version: t.String(),
  kind: oneOf(['categories', 'numbers', 'times'], {
    description: '`times` (dates, and columns of date strings) are milliseconds since 1970',
  }),
  values: t.Optional(
    t.Array(t.Object({ value: t.String(), count: COUNT }), {
      description: 'For `categories`: the values, most common first',
    }),
  ),
  codes: t.Optional(
    t.String({
      description:
        'For `categories`: each point’s index in `values` plus 1, or 0 without a value, as little-endian 32-bit integers in base64',
    }),
  ),
  numbers: t.Optional(
    t.String({
      description:
        'For `numbers` and `times`: one value per point or NaN, as little-endian doubles in base64',
    }),
  ),
})

export const MAP_CHUNKS = named('MapChunks', {
  items: t.Array(
    t.Object({
      point: COUNT,
      chunk: orNull(
        t.Object({
          id: t.String(),
          chunk_id: t.String(),
          chunk_content: t.String(),
          metadata: FIELDS,
        }),
        { description: 'null if deleted since the map was computed' },
      ),
    }),
  ),
})
