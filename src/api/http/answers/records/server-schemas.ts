/** Schemas of statements, files and the server's state. */
import { t } from 'elysia'
import { SCOPES } from '../../../../core/domain/access/principal.ts'
import {
  COUNT,
  integer,
  named,
  oneOf,
  orNull,
  TEXTS,
  TIME,
  TIME_OR_NULL,
} from '../../request/schema-words.ts'
import { BACKUP } from './catalog-schemas.ts'

export const TOKEN = t.Object(
  { token: t.String() },
  { $id: 'Token', examples: [{ token: 'eyJhbGciOi…' }] },
)

/** Existing clients expect a body, even an empty one. */
export const NOTHING = t.Literal('', { description: 'An empty string' })

export const PING = t.Object(
  { status: oneOf(['ok']) },
  { $id: 'Ping', examples: [{ status: 'ok' }] },
)

export const HEALTH = t.Object(
  { status: oneOf(['ok']), checks: t.Object({ database: t.String(), disk: t.String() }) },
  { $id: 'Health', examples: [{ status: 'ok', checks: { database: 'ok', disk: 'ok' } }] },
)

export const READINESS = t.Union([NOTHING, t.Object({ warnings: TEXTS })], {
  description: 'An empty string, or the warnings',
})

export const CONFIG = t.Object(
  { auth: t.Object({ http_auth_enabled: t.Boolean() }) },
  { $id: 'Config', examples: [{ auth: { http_auth_enabled: false } }] },
)

const POSSIBLE = t.Object({ possible: t.Boolean(), reason: t.Optional(t.String()) })

export const STATUS = named('Status', 'Only admins get the optional fields, except `principal`', {
  mindsdb_version: t.String({ description: 'The MindsDB release whose API the server follows' }),
  eider_version: t.String(),
  environment: t.String(),
  auth: t.Object({
    confirmed: t.Boolean({ description: 'Whether the caller is logged in' }),
    http_auth_enabled: t.Boolean(),
    provider: oneOf(['local', 'disabled']),
  }),
  indexes: t.Object({ exact: POSSIBLE, ivf: POSSIBLE, hnsw: POSSIBLE }),
  principal: t.Optional(
    t.Object(
      {
        kind: oneOf(['open', 'user', 'key'], {
          description: 'The kind of caller; `open` if the server has no login',
        }),
        id: t.String({ description: 'Unique within its kind' }),
        name: t.String(),
        scopes: t.Array(oneOf(SCOPES)),
        projects: orNull(TEXTS, {
          description: 'The projects that the caller can use, in lower case, or null for all',
        }),
      },
      { description: 'The caller of this request and its rights' },
    ),
  ),
  statements: t.Optional(
    t.Object({
      running: COUNT,
      waiting: COUNT,
      parked: COUNT,
      abandoned: t.Array(t.Object({ since: TIME, statement: t.String() })),
    }),
  ),
  restarts: t.Optional(
    t.Object({
      count: COUNT,
      last: orNull(
        t.Object({
          at: t.String(),
          reason: t.String(),
          running: t.Array(
            t.Object({ since: t.String(), request: t.String(), statement: orNull(t.String()) }),
          ),
        }),
      ),
    }),
  ),
  disk: t.Optional(
    t.Object(
      {
        free: orNull(COUNT),
        reserve: COUNT,
        data: COUNT,
        log: COUNT,
        files: COUNT,
        full: t.Boolean({ description: 'Whether writes are refused' }),
      },
      { description: 'Bytes' },
    ),
  ),
  memory: t.Optional(
    t.Object(
      {
        rss: COUNT,
        data: orNull(COUNT, {
          description:
            'Private writable memory as the kernel counts it; JavaScript reserves most of it at startup',
        }),
        start: orNull(COUNT, { description: '`data` right after the server started' }),
        limit: orNull(COUNT, {
          description: 'The limit on `data`, above which statements fail; null if unlimited',
        }),
        readers: integer({ description: 'The memory limit of each file reader process' }),
        interrupted: integer({ description: 'Statements stopped for lack of memory' }),
      },
      { description: 'Bytes' },
    ),
  ),
  backups: t.Optional(
    t.Object({
      last: orNull(BACKUP),
      next: TIME_OR_NULL,
      failed: orNull(t.Object({ at: TIME, message: t.String() })),
    }),
  ),
})

export const RUNNING_REQUEST = named('RunningRequest', {
  number: integer({ description: 'Pass this number to cancel the request' }),
  started_at: TIME,
  ms: COUNT,
  method: t.String(),
  path: t.String({ description: 'Without the query string' }),
  route: t.String(),
  statement: orNull(t.String(), { description: 'The statement’s first words, without values' }),
  request_id: t.String(),
  principal: orNull(t.String(), { description: 'The caller; null without a login' }),
})

export const ANSWERED_REQUEST = named('AnsweredRequest', {
  started_at: TIME,
  ms: t.Number({ description: 'Milliseconds to the last byte of the answer' }),
  method: t.String(),
  path: t.String({ description: 'Without the query string' }),
  route: t.String({ description: 'The path’s pattern, or `unknown`' }),
  status: integer(),
  code: orNull(t.String(), { description: 'The answer’s error code' }),
  request_id: t.String(),
  principal: orNull(t.String(), { description: 'The caller; null without a login' }),
  is_from_page: t.Boolean({ description: 'Whether the server’s own page sent the request' }),
})

export const USAGE = named('Usage', {
  project: t.String(),
  knowledge_base: t.String(),
  documents: COUNT,
  chunks: COUNT,
  dimensions: orNull(integer(), {
    description: 'Vector length, or null before the first vector',
  }),
  disk: orNull(t.Object({ texts: COUNT, vectors: COUNT, keywords: COUNT }), {
    description: 'Bytes in the database file, in whole blocks, without the log; null if left out',
  }),
  memory: t.Object({ vectors: COUNT, rows: COUNT }, { description: 'Bytes' }),
  vectors: t.Object({
    copy: oneOf(['whole', 'codes', 'loading', 'none'], {
      description:
        'What memory holds: `whole` vectors, `codes` (a fifth of the bytes, with the vectors on disk), or `none` (searches read vectors from disk)',
    }),
    count: COUNT,
  }),
  index: t.Object(
    {
      type: oneOf(['auto', 'exact', 'ivf', 'hnsw']),
      state: oneOf(['ready', 'building', 'exact', 'unavailable']),
      detail: t.String(),
    },
    { description: 'As in SHOW INDEXES' },
  ),
})

export const USAGE_LIST = named('UsageList', {
  items: t.Array(USAGE),
  total: COUNT,
  next: orNull(integer(), { description: 'The `offset` of the next page, or null' }),
})

export const SETTING = named('Setting', {
  name: t.String(),
  value: orNull(t.String(), { description: 'null if unset or secret' }),
  default: orNull(t.String(), { description: 'null if not set' }),
  meaning: t.String(),
  is_secret: t.Boolean(),
  is_set: t.Boolean(),
})

const SQL_CONTEXT = named('SqlContext', {
  show_secrets: t.Boolean(),
  db: t.String({ description: 'Send this as `context.db` with the next request' }),
})

const SQL_ERROR = named('SqlError', {
  type: oneOf(['error']),
  error_code: integer(),
  error_message: t.String({ description: 'The error, with its position in the statement' }),
  context: SQL_CONTEXT,
  column_names: t.Optional(TEXTS),
  data: t.Optional(
    t.Array(t.Array(t.Unknown()), { description: 'The rows returned before the failure' }),
  ),
})

export const SQL_ANSWER = t.Union(
  [
    t.Object(
      {
        type: oneOf(['table']),
        column_names: TEXTS,
        data: t.Array(t.Array(t.Unknown()), {
          description: 'Rows, each as a list in the order of the columns',
        }),
        context: SQL_CONTEXT,
        warnings: t.Optional(TEXTS),
      },
      {
        $id: 'SqlTable',
        examples: [
          {
            type: 'table',
            column_names: ['id', 'relevance'],
            data: [['3', 0.62]],
            context: { show_secrets: false, db: 'mindsdb' },
          },
        ],
      },
    ),
    named('SqlOk', {
      type: oneOf(['ok']),
      affected_rows: orNull(COUNT),
      context: SQL_CONTEXT,
      warnings: t.Optional(TEXTS),
    }),
    SQL_ERROR,
  ],
  { $id: 'SqlAnswer' },
)

export const SQL_FUNCTION = named('SqlFunction', {
  name: t.String(),
  kind: oneOf(['scalar', 'aggregate', 'window']),
  signatures: t.Array(t.String(), {
    description: 'Signatures, with the return type unless it depends on the arguments',
    examples: [['round(x)', 'round(x, precision)']],
  }),
  description: orNull(t.String()),
  example: orNull(t.String()),
})

export const FILE = t.Object(
  {
    id: integer(),
    name: t.String(),
    original_file_name: t.String(),
    format: t.String(),
    size_bytes: COUNT,
    content_type: orNull(t.String()),
    source_url: orNull(t.String()),
    row_count: COUNT,
    columns: TEXTS,
    sheets: t.Array(
      named('FileSheet', {
        name: t.String(),
        table: t.Optional(t.String({ description: 'The sheet’s name in SQL, within `files`' })),
        row_count: COUNT,
        columns: TEXTS,
      }),
    ),
    recognized: named('RecognizedFormat', {
      encoding: t.Optional(t.String()),
      compression: t.Optional(t.String()),
      delimiter: t.Optional(t.String()),
      header: t.Optional(t.Boolean()),
      pages: t.Optional(COUNT),
      sheets: t.Optional(TEXTS),
      messages: t.Optional(COUNT),
      language: t.Optional(t.String()),
      ocr: t.Optional(
        t.Object({
          model: t.String(),
          images: COUNT,
          tokens: t.Union([COUNT, t.Null()]),
          cost: t.Union([t.Number(), t.Null()]),
        }),
      ),
    }),
    warnings: t.Array(t.String(), { description: 'Parts that could not be read' }),
    created_at: TIME,
  },
  {
    $id: 'File',
    examples: [
      {
        id: 4,
        name: 'teas.csv',
        original_file_name: 'teas.csv',
        format: 'csv',
        size_bytes: 120,
        content_type: 'text/csv',
        source_url: null,
        row_count: 3,
        columns: ['id', 'content', 'price'],
        sheets: [],
        recognized: { encoding: 'utf-8', delimiter: ',', header: true },
        warnings: [],
        created_at: '2026-04-30 12:00:00.000000',
      },
    ],
  },
)

export const FILE_LIST = named('UploadResult', {
  files: t.Array(FILE),
  failed: t.Array(
    named('FailedUpload', 'A file that could not be stored', {
      name: t.String(),
      code: t.String(),
      detail: t.String(),
    }),
  ),
  skipped: integer({ minimum: 0, description: 'ZIP entries that are not files' }),
})
