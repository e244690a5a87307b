/**
 * Schemas of nested objects in definitions, for the OpenAPI document. The catalog checks the values
 * itself, with better messages.
 */
import { t } from 'elysia'
import { FIELDS, integer, maybe, named, oneOf, open, TEXTS } from '../request/schema-words.ts'

const TEXT = maybe(t.String())

export const MODEL = t.Object(
  {
    provider: maybe(t.String(), { description: 'builtin, openai, anthropic, ollama, gemini, …' }),
    model_name: TEXT,
    api_key: maybe(t.String(), { description: 'Stored encrypted; `******` keeps the stored key' }),
    base_url: maybe(t.String(), { description: 'URL of a server with that API' }),
  },
  {
    $id: 'Model',
    description: 'A model; other fields are options of its provider',
    additionalProperties: true,
    examples: [{ provider: 'openai', model_name: 'gpt-4o-mini', api_key: 'sk-…' }],
  },
)

const SIZES = {
  chunk_size: maybe(integer({ minimum: 1 }), { description: 'Characters' }),
  chunk_overlap: maybe(integer({ minimum: 0 })),
}
const FLAG = maybe(t.Boolean())
const TEXT_LIST = maybe(TEXTS)
const COUNTED = maybe(integer({ minimum: 0 }))

export const PREPROCESSING = t.Object(
  {
    type: maybe(
      oneOf([
        'auto',
        'text_chunking',
        'markdown_chunking',
        'code_chunking',
        'sentence_chunking',
        'json_chunking',
        'contextual',
      ]),
    ),
    auto_config: maybe(t.Object(SIZES)),
    text_chunking_config: maybe(t.Object({ ...SIZES, separators: TEXT_LIST })),
    markdown_chunking_config: maybe(t.Object(SIZES)),
    code_chunking_config: maybe(t.Object({ chunk_size: SIZES.chunk_size })),
    sentence_chunking_config: maybe(
      t.Object({
        window_size: COUNTED,
        window_overlap: COUNTED,
        chunk_size: SIZES.chunk_size,
      }),
    ),
    json_chunking_config: maybe(
      t.Object({
        flatten_nested: FLAG,
        include_metadata: FLAG,
        chunk_by_object: FLAG,
        exclude_fields: TEXT_LIST,
        include_fields: TEXT_LIST,
        metadata_fields: TEXT_LIST,
        extract_all_primitives: FLAG,
        nested_delimiter: TEXT,
        content_column: TEXT,
      }),
    ),
    contextual_config: maybe(
      t.Object({
        ...SIZES,
        llm_config: maybe(MODEL),
        context_template: TEXT,
        summarize: FLAG,
        max_chunks: COUNTED,
      }),
    ),
  },
  {
    $id: 'Preprocessing',
    description: 'How documents are chunked; each type has its own options',
    examples: [{ type: 'text_chunking', text_chunking_config: { chunk_size: 500 } }],
  },
)

export const STORAGE = t.Union(
  [
    t.Object({ database: t.String(), table: t.String() }),
    t.String({ description: '`database.table`, or `embedded`' }),
    t.Null(),
  ],
  { description: 'Where to store the vectors, in the form that existing clients send' },
)

export const AGENT_DATA = t.Object(
  {
    knowledge_bases: maybe(t.Union([TEXTS, t.String()]), {
      description: 'Names such as `<project>.<name>`; * and ? are wildcards',
    }),
    tables: maybe(t.Union([TEXTS, t.String()]), {
      description: 'Names such as `<database>.<table>`; * and ? are wildcards',
    }),
    mcp: maybe(
      t.Array(
        named('McpServer', 'A server whose tools the agent can call', {
          name: t.String(),
          url: t.String(),
          headers: maybe(t.Record(t.String(), t.String())),
          tools: maybe(TEXTS, { description: 'The tools that the agent can call' }),
        }),
      ),
    ),
  },
  {
    $id: 'AgentData',
    description: 'What the agent can read; if empty, nothing',
    examples: [{ knowledge_bases: ['mindsdb.teas'] }],
  },
)

export const AGENT_OPTIONS = {
  timeout: maybe(integer({ minimum: 1 }), { description: 'Time limit of an answer in seconds' }),
  max_steps: maybe(integer({ minimum: 1, maximum: 100 })),
  mode: maybe(oneOf(['text', 'sql']), {
    description: '`sql` also returns the rows of the last statement',
  }),
  return_context: maybe(t.Boolean(), {
    description: 'Whether to return the text shown to the model',
  }),
}

export const RESPONSE_FORMAT = t.Union(
  [
    t.Object({ type: oneOf(['text']) }),
    t.Object({ type: oneOf(['json_object']) }),
    t.Object({
      type: oneOf(['json_schema']),
      json_schema: open({ name: t.Optional(t.String()), schema: FIELDS }),
    }),
    t.Null(),
  ],
  { description: 'The format of the answer' },
)

export const CONDITIONS = t.Record(t.String(), t.Unknown(), {
  description: 'Conditions on metadata: `{"price": {"<": 8}, "kind": ["green", "black"]}`',
  examples: [{ price: { '<': 8 } }],
})
