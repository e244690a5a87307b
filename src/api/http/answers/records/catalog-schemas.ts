/** Schemas of projects, views, jobs and backups. */
import { t } from 'elysia'
import { JOB_KINDS, JOB_STATES } from '../../../../core/domain/flow/job.ts'
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

const TIMES = { created_at: TIME, updated_at: TIME }
const EXAMPLE_TIMES = {
  created_at: '2026-04-30 12:00:00.000000',
  updated_at: '2026-04-30 12:00:00.000000',
}

export const PROJECT = t.Object(
  { id: integer(), name: t.String(), ...TIMES },
  {
    $id: 'Project',
    description: 'A namespace of knowledge bases, agents, views and tables',
    examples: [{ id: 1, name: 'mindsdb', ...EXAMPLE_TIMES }],
  },
)

export const VIEW = t.Object(
  {
    id: integer(),
    name: t.String(),
    project: t.String(),
    query: t.String({ description: 'The SELECT behind the view' }),
    columns: t.Array(named('ViewColumn', { name: t.String(), type: t.String() })),
    ...TIMES,
  },
  {
    $id: 'View',
    description: 'A named SELECT',
    examples: [
      {
        id: 3,
        name: 'cheap_teas',
        project: 'mindsdb',
        query: 'SELECT id, price FROM teas WHERE price < 8',
        columns: [
          { name: 'id', type: 'VARCHAR' },
          { name: 'price', type: 'BIGINT' },
        ],
        ...EXAMPLE_TIMES,
      },
    ],
  },
)

const JOB_ERROR = named('JobError', 'An item that was skipped', {
  item: t.String({ description: 'An id, row number, path or address' }),
  message: t.String(),
})

const JOB_STATE = oneOf(JOB_STATES, { $id: 'JobState' })
const JOB_KIND = oneOf(JOB_KINDS, { $id: 'JobKind' })

export const JOB = t.Object(
  {
    id: integer(),
    kind: JOB_KIND,
    state: JOB_STATE,
    project: t.String(),
    knowledge_base: orNull(t.String(), {
      description: 'The knowledge base that the job writes, or null',
    }),
    title: t.String({ description: 'What the job does' }),
    created_at: TIME,
    started_at: TIME_OR_NULL,
    finished_at: TIME_OR_NULL,
    rows: COUNT,
    documents: COUNT,
    chunks: COUNT,
    skipped_rows: integer({
      minimum: 0,
      description: 'Number of rows with empty content; `errors` lists the first 100',
    }),
    total: orNull(COUNT, { description: 'Total rows, or null if unknown' }),
    rate: orNull(t.Number(), { description: 'Recent rows per second' }),
    remaining_seconds: orNull(t.Number(), { description: 'null if unknown' }),
    embedded_chunks: orNull(COUNT, {
      description:
        'Chunks embedded since the job started or continued, including those not stored yet; null if none, or when the job has ended',
    }),
    error: orNull(t.String(), { description: 'Why the job failed, or null' }),
    errors: t.Array(JOB_ERROR, { description: 'The first items that were skipped' }),
    error_count: COUNT,
  },
  {
    $id: 'Job',
    description: 'Background work that survives a restart and can be watched',
    examples: [
      {
        id: 7,
        kind: 'insert',
        state: 'running',
        project: 'mindsdb',
        knowledge_base: 'teas',
        title: 'Insert 5000 rows into teas',
        created_at: '2026-04-30 12:00:00.000000',
        started_at: '2026-04-30 12:00:00.000000',
        finished_at: null,
        rows: 1200,
        documents: 1200,
        chunks: 1312,
        skipped_rows: 0,
        total: 5000,
        rate: 240,
        remaining_seconds: 16,
        embedded_chunks: 1824,
        error: null,
        errors: [],
        error_count: 0,
      },
    ],
  },
)

export const JOB_LIST = named('JobList', {
  items: t.Array(JOB),
  total: integer({ minimum: 0, description: 'Number of matching jobs' }),
  next: orNull(integer(), { description: 'The `offset` of the next page, or null' }),
})

export const DELETED_JOBS = named('DeletedJobs', { deleted: integer({ minimum: 0 }) })

export const SCHEDULE = named('Schedule', 'A scheduled job', {
  id: integer(),
  name: t.String(),
  project: t.String(),
  query: t.String({ description: 'Statements, separated by semicolons; secrets are masked' }),
  if_query: orNull(t.String(), {
    description: 'The job runs only if the last of these statements returns a row',
  }),
  start_at: TIME,
  end_at: TIME_OR_NULL,
  next_run_at: orNull(TIME, { description: 'null if it will not run again' }),
  schedule_str: orNull(t.String(), { description: '`2 hours`, or a cron expression' }),
  last: t.Record(t.String(), t.Object({ value: t.String(), type: t.String() }), {
    description: 'Values of LAST, by the position of the statement',
  }),
  created_at: TIME,
})

export const SCHEDULE_RUN = named('ScheduleRun', {
  id: integer(),
  job_id: integer(),
  start_at: TIME,
  end_at: TIME,
  state: oneOf(['done', 'skipped', 'failed', 'cancelled']),
  error: orNull(t.String()),
})

export const BACKUP = t.Object(
  {
    name: t.String({ description: 'The name of the backup’s folder' }),
    size_bytes: COUNT,
    created_at: TIME,
    row_count: COUNT,
    has_keys: t.Boolean({
      description: 'Whether the backup has the keys; without them, secrets cannot be restored',
    }),
  },
  {
    $id: 'Backup',
    examples: [
      {
        name: '2026-04-30T12-00-00Z',
        size_bytes: 1048576,
        created_at: '2026-04-30 12:00:00.000000',
        row_count: 5000,
        has_keys: true,
      },
    ],
  },
)

/** The fields of a source depend on its kind. */
export const SOURCE_RUN = named('SourceRun', 'One run of a source', {
  id: integer(),
  job_id: orNull(integer()),
  trigger: oneOf(['request', 'schedule', 'change']),
  state: oneOf(['running', 'done', 'failed', 'cancelled']),
  started_at: TIME,
  finished_at: TIME_OR_NULL,
  duration_ms: orNull(COUNT),
  added: COUNT,
  changed: COUNT,
  unchanged: COUNT,
  removed: COUNT,
  failed: COUNT,
  bytes: COUNT,
  pages: COUNT,
  error: orNull(t.String()),
  errors: t.Array(JOB_ERROR),
})

export const SOURCE_PARAMETERS = {
  path: t.Optional(t.String({ description: 'Path of a folder' })),
  url: t.Optional(t.String({ description: 'The URL, for `url`, `sitemap` and `site`' })),
  query: t.Optional(t.String({ description: 'The SELECT, for `query`' })),
  table: t.Optional(t.String({ description: 'The table’s name in SQL, for `table`' })),
  track_column: t.Optional(
    t.String({
      description: 'A column whose value grows with each change, for `query` and `table`',
    }),
  ),
  include: t.Optional(t.Array(t.String(), { description: 'Globs of the files to read' })),
  exclude: t.Optional(t.Array(t.String(), { description: 'Globs of the files to leave out' })),
  hidden: t.Optional(t.Boolean({ description: 'Whether to read hidden files of a folder' })),
  headers: t.Optional(
    t.Record(t.String(), t.String(), { description: 'Sent with each request; masked in answers' }),
  ),
  limit: t.Optional(integer({ minimum: 1, description: 'Maximum number of pages' })),
  crawl_depth: t.Optional(
    integer({ minimum: 0, description: 'How many links deep to crawl from the URL' }),
  ),
  filters: t.Optional(t.Union([TEXTS, t.Object({ allowed_domains: TEXTS })])),
  allow_empty: t.Optional(
    t.Boolean({ description: 'Whether an empty source removes all documents' }),
  ),
}

export const SOURCE_DEFINITION = t.Object(
  {
    name: t.Optional(t.String()),
    kind: t.Optional(
      oneOf(['folder', 'url', 'sitemap', 'site', 'query', 'table'], { $id: 'SourceKind' }),
    ),
    ...SOURCE_PARAMETERS,
    schedule: maybe(t.String(), { description: 'A cron expression (UTC) or `every 15 minutes`' }),
    watch: t.Optional(t.Boolean()),
    remove_vanished: t.Optional(t.Boolean()),
  },
  {
    $id: 'SourceDefinition',
    description: 'A new source needs `name`, `kind` and the fields of its kind',
    additionalProperties: true,
    examples: [{ name: 'docs', kind: 'folder', path: '/srv/docs', schedule: 'every 15 minutes' }],
  },
)

export const SOURCE = named('Source', 'A source that a knowledge base syncs with', {
  id: integer(),
  name: t.String(),
  kind: oneOf(['folder', 'url', 'sitemap', 'site', 'query', 'table'], { $id: 'SourceKind' }),
  ...SOURCE_PARAMETERS,
  schedule: orNull(t.String(), { description: 'A cron expression (UTC) or `every 15 minutes`' }),
  watch: t.Boolean({ description: 'Whether changes in a folder start a run' }),
  remove_vanished: t.Boolean(),
  created_at: TIME,
  updated_at: TIME,
  knowledge_base: t.String(),
  project: t.String(),
  job_id: orNull(integer(), { description: 'The job of the current run' }),
  next_run_at: TIME_OR_NULL,
  watching: orNull(oneOf(['events', 'polling']), { description: 'null if not watched' }),
  watch_note: orNull(t.String()),
  last_run: orNull(SOURCE_RUN),
})

export const DATABASE_CHECK = named('DatabaseCheck', {
  success: t.Boolean(),
  error_message: orNull(t.String()),
})

const DATABASE_FIELDS = {
  name: t.String(),
  type: oneOf(['project', 'data', 'system'], { $id: 'DatabaseType' }),
  id: orNull(integer()),
  engine: orNull(t.String()),
  visible: t.Boolean(),
  deletable: t.Boolean(),
  class_type: t.Optional(t.String()),
  connection_data: t.Optional(
    t.Record(t.String(), t.Unknown(), { description: 'Parameters, with secrets masked' }),
  ),
  created_at: t.Optional(TIME),
  updated_at: t.Optional(TIME),
}

export const DATABASE = t.Object(
  { ...DATABASE_FIELDS, connection_status: t.Optional(DATABASE_CHECK) },
  {
    $id: 'Database',
    description: 'An SQL namespace: a project, a data source, or a built-in database',
    examples: [
      { name: 'mindsdb', type: 'project', id: 1, engine: null, visible: true, deletable: false },
    ],
  },
)

export const CONNECTION_FAILURE = named(
  'ConnectionFailure',
  'The connection failed; nothing was stored',
  {
    status: oneOf(['connection_error']),
    detail: t.String(),
  },
)

export const CONNECTION_STATUS = named('ConnectionStatus', {
  status: oneOf(['success', 'connection_error']),
  detail: t.Optional(t.String()),
})

export const TREE_ROOT = named('TreeRoot', { ...DATABASE_FIELDS, class: oneOf(['db']) })

const NODE_FIELDS = {
  name: t.String(),
  schema: orNull(t.String()),
  class: oneOf(['table', 'schema']),
  type: t.String({
    description: 'The kind of object: knowledge_base, table, view, agent or schema',
  }),
  engine: orNull(t.String()),
  deletable: t.Boolean(),
}

export const TREE_NODE = named('TreeNode', {
  ...NODE_FIELDS,
  children: t.Optional(
    t.Array(t.Object({ ...NODE_FIELDS, children: t.Optional(t.Array(FIELDS)) })),
  ),
})

export const DATABASE_TABLES = named('DatabaseTables', {
  data: t.Array(t.Object({ name: t.String(), tables: TEXTS })),
})

export const TABLE_NAME = named('TableName', {
  name: t.String(),
  type: t.String({ description: 'The kind of table, such as data or view' }),
})

export const TABLE = named('Table', {
  name: t.String(),
  type: oneOf(['data']),
  columns: t.Array(
    named('TableColumn', { name: t.String(), type: t.String(), nullable: t.Boolean() }),
  ),
})
