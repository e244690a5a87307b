/**
 * The bodies of knowledge base requests: their shape, and what is an insert and what a definition
 * in them.
 */
import { type Static, t } from 'elysia'
import type { Fields } from '../catalog/fields.ts'
import type { Row } from '../domain/document.ts'
import { bodySchema } from './body-schema.ts'
import type { InsertFields } from './server-deps.ts'

const optional = {
  text: () => t.Optional(t.Union([t.String(), t.Null()])),
  integer: (minimum: number, maximum: number) => {
    return t.Optional(t.Union([t.Number({ multipleOf: 1, minimum, maximum }), t.Null()]))
  },
  object: () => t.Optional(t.Union([t.Object({}), t.Null()])),
  texts: () => t.Optional(t.Union([t.Array(t.String()), t.Null()])),
}

const DEFINITION = {
  embedding_model: optional.object(),
  /** `false` turns reranking off. */
  reranking_model: t.Optional(t.Union([t.Object({}), t.Literal(false), t.Null()])),
  content_columns: optional.texts(),
  metadata_columns: optional.texts(),
  id_column: optional.text(),
  preprocessing: optional.object(),
  /** Of the texts, for the keyword search. */
  language: optional.text(),
  /** What its searches do unless they say otherwise. */
  hybrid_search: t.Optional(t.Union([t.Boolean(), t.Null()])),
  hybrid_search_alpha: t.Optional(t.Union([t.Number({ minimum: 0, maximum: 1 }), t.Null()])),
  hybrid_search_fusion: optional.text(),
  params: optional.object(),
}

/** Further fields are left to the catalog, which knows the wording for those it refuses. */
export const CREATE_KNOWLEDGE_BASE = bodySchema(
  t.Object(
    {
      knowledge_base: t.Object({
        name: t.String(),
        /** An object, or `database.table` as text. */
        storage: t.Optional(t.Union([t.Object({}), t.String(), t.Null()])),
        ...DEFINITION,
      }),
    },
    { additionalProperties: false },
  ),
)

/** Pages. */
const CRAWL_LIMIT_MAX = 1_000_000
/** Links from a start address. */
const CRAWL_DEPTH_MAX = 1000

const INSERT = {
  rows: t.Optional(t.Union([t.Array(t.Object({})), t.Null()])),
  query: optional.text(),
  files: optional.texts(),
  urls: optional.texts(),
  limit: optional.integer(1, CRAWL_LIMIT_MAX),
  crawl_depth: optional.integer(0, CRAWL_DEPTH_MAX),
  filters: t.Optional(
    t.Union([
      t.Array(t.String()),
      t.Object({ allowed_domains: t.Array(t.String()) }, { additionalProperties: false }),
      t.Null(),
    ]),
  ),
}

const UPDATE_SCHEMA = t.Object(
  { knowledge_base: t.Object({ ...INSERT, ...DEFINITION }) },
  { additionalProperties: false },
)
export const UPDATE_KNOWLEDGE_BASE = bodySchema(UPDATE_SCHEMA)

type SentUpdate = Static<typeof UPDATE_SCHEMA>['knowledge_base']

interface KnowledgeBaseUpdate {
  /** null: nothing is inserted. */
  readonly insert: InsertFields | null
  /**
   * What changes the definition, unknown fields among it: altering refuses them by name. Empty:
   * nothing changes.
   */
  readonly definition: Fields
}

/** What a PUT asks for; fields that are null count as not sent. */
export function knowledgeBaseUpdate(sent: SentUpdate): KnowledgeBaseUpdate {
  const definition = Object.entries(sent).filter(([name, value]) => {
    return !Object.hasOwn(INSERT, name) && value !== null && value !== undefined
  })
  const insert = insertFields(sent)
  const hasSource = ['rows', 'query', 'files', 'urls'].some((name) => Object.hasOwn(insert, name))
  return { insert: hasSource ? insert : null, definition: Object.fromEntries(definition) }
}

function insertFields(sent: SentUpdate): InsertFields {
  const { rows, query, files, urls, limit, crawl_depth, filters } = sent
  return {
    // JSON objects hold nothing but what a RowValue is; the schema saw that each is an object.
    ...(rows ? { rows: rows as readonly Row[] } : {}),
    ...(isSet(query) ? { query } : {}),
    ...(files ? { files } : {}),
    ...(urls ? { urls } : {}),
    ...(isSet(limit) ? { limit } : {}),
    ...(isSet(crawl_depth) ? { crawlDepth: crawl_depth } : {}),
    ...(filters ? { filters: filtersOf(filters) } : {}),
  }
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}

function filtersOf(
  filters: NonNullable<SentUpdate['filters']>,
): NonNullable<InsertFields['filters']> {
  return 'allowed_domains' in filters ? { allowedDomains: filters.allowed_domains } : filters
}
