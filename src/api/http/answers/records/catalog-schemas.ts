/** Projects, views, jobs and backups as answers show them. */
import { t } from 'elysia'
import { JOB_KINDS, JOB_STATES } from '../../../../core/domain/flow/job.ts'
import {
  COUNT,
  FIELDS,
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
  { id: t.Integer(), name: t.String(), ...TIMES },
  {
    $id: 'Project',
    description: 'A namespace of knowledge bases, agents, views and tables',
    examples: [{ id: 1, name: 'mindsdb', ...EXAMPLE_TIMES }],
  },
)

export const VIEW = t.Object(
  {
    id: t.Integer(),
    name: t.String(),
    project: t.String(),
    query: t.String({ description: 'The SELECT that it stands for' }),
    columns: t.Array(t.Object({ name: t.String(), type: t.String() }, { $id: 'ViewColumn' })),
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

export const JOB_ERROR = t.Object(
  {
    item: t.String({ description: 'An id, the number of a row, a path or an address' }),
    message: t.String(),
  },
  { $id: 'JobError', description: 'An item that was left out' },
)

export const JOB_STATE = oneOf(JOB_STATES, { $id: 'JobState' })
export const JOB_KIND = oneOf(JOB_KINDS, { $id: 'JobKind' })

export const JOB = t.Object(
  {
    id: t.Integer(),
    kind: JOB_KIND,
    state: JOB_STATE,
    project: t.String(),
    knowledge_base: orNull(t.String(), {
      description: 'What it fills; null: nothing of that kind',
    }),
    title: t.String({ description: 'What it does, for people' }),
    created_at: TIME,
    started_at: TIME_OR_NULL,
    finished_at: TIME_OR_NULL,
    rows: COUNT,
    documents: COUNT,
    chunks: COUNT,
    skipped_rows: t.Integer({
      minimum: 0,
      description: 'Rows not stored because their content is empty; `errors` lists the first 100',
    }),
    total: orNull(COUNT, { description: 'Rows that there will be; null: nobody knows' }),
    rate: orNull(t.Number(), { description: 'Rows a second of late' }),
    remaining_seconds: orNull(t.Number(), { description: 'null: nobody knows' }),
    error: orNull(t.String(), { description: 'Why it failed; null: it did not' }),
    errors: t.Array(JOB_ERROR, { description: 'What was left out, the first of it' }),
    error_count: COUNT,
  },
  {
    $id: 'Job',
    description: 'Work that goes on without a request, survives a restart, and can be watched',
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
        error: null,
        errors: [],
        error_count: 0,
      },
    ],
  },
)

export const JOB_LIST = t.Object(
  {
    items: t.Array(JOB),
    total: t.Integer({ minimum: 0, description: 'Of all that were found' }),
    next: orNull(t.Integer(), { description: 'The `offset` of the rest; null: there is none' }),
  },
  { $id: 'JobList' },
)

export const DELETED_JOBS = t.Object({ deleted: t.Integer({ minimum: 0 }) }, { $id: 'DeletedJobs' })

export const SCHEDULE = t.Object(
  {
    id: t.Integer(),
    name: t.String(),
    project: t.String(),
    query: t.String({ description: 'Statements, separated by semicolons; secrets are masked' }),
    if_query: orNull(t.String(), {
      description: 'It runs only where the last of these gives a row',
    }),
    start_at: TIME,
    end_at: TIME_OR_NULL,
    next_run_at: orNull(TIME, { description: 'null: it does not run any more' }),
    schedule_str: orNull(t.String(), { description: '`2 hours`, or a cron expression' }),
    last: t.Record(t.String(), t.Object({ value: t.String(), type: t.String() }), {
      description: 'What LAST stands for, by the place of its statement',
    }),
    created_at: TIME,
  },
  { $id: 'Schedule', description: 'A job that runs by itself' },
)

export const SCHEDULE_RUN = t.Object(
  {
    id: t.Integer(),
    job_id: t.Integer(),
    start_at: TIME,
    end_at: TIME,
    state: oneOf(['done', 'skipped', 'failed', 'cancelled']),
    error: orNull(t.String()),
  },
  { $id: 'ScheduleRun' },
)

export const BACKUP = t.Object(
  {
    name: t.String({ description: 'Of its folder within the folder of backups' }),
    size_bytes: COUNT,
    created_at: TIME,
    row_count: COUNT,
    has_keys: t.Boolean({ description: 'false: secrets cannot be read after a restore' }),
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

/** A source of a knowledge base: which of the fields there are depends on its kind. */
export const SOURCE_RUN = t.Object(
  {
    id: t.Integer(),
    job_id: orNull(t.Integer()),
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
  },
  { $id: 'SourceRun', description: 'One time that a knowledge base was brought into step' },
)

/** What a source is told: which of these depends on its kind. */
export const SOURCE_PARAMETERS = {
  path: t.Optional(t.String({ description: 'Of a folder' })),
  url: t.Optional(t.String({ description: 'Of url, sitemap and site' })),
  query: t.Optional(t.String({ description: 'Of a query: a SELECT' })),
  table: t.Optional(t.String({ description: 'Of a table: its name in SQL' })),
  track_column: t.Optional(
    t.String({ description: 'Of query and table: it grows with each change' }),
  ),
  include: t.Optional(t.Array(t.String(), { description: 'Globs: what is read' })),
  exclude: t.Optional(t.Array(t.String(), { description: 'Globs: what is not' })),
  hidden: t.Optional(t.Boolean({ description: 'Of a folder: hidden files, too' })),
  headers: t.Optional(
    t.Record(t.String(), t.String(), { description: 'Sent with each request; answers mask them' }),
  ),
  limit: t.Optional(t.Integer({ minimum: 1, description: 'Most pages' })),
  crawl_depth: t.Optional(t.Integer({ minimum: 0, description: 'In links from the address' })),
  filters: t.Optional(t.Union([TEXTS, t.Object({ allowed_domains: TEXTS })])),
  allow_empty: t.Optional(
    t.Boolean({ description: 'A source that is empty all at once is meant to be' }),
  ),
}

export const SOURCE_DEFINITION = t.Object(
  {
    name: t.Optional(t.String()),
    kind: t.Optional(
      oneOf(['folder', 'url', 'sitemap', 'site', 'query', 'table'], { $id: 'SourceKind' }),
    ),
    ...SOURCE_PARAMETERS,
    schedule: t.Optional(
      orNull(t.String(), { description: 'A cron expression (UTC) or `every 15 minutes`' }),
    ),
    watch: t.Optional(t.Boolean()),
    remove_vanished: t.Optional(t.Boolean()),
  },
  {
    $id: 'SourceDefinition',
    description: 'A new source needs `name`, `kind` and what its kind needs',
    additionalProperties: true,
    examples: [{ name: 'docs', kind: 'folder', path: '/srv/docs', schedule: 'every 15 minutes' }],
  },
)

export const SOURCE = t.Object(
  {
    id: t.Integer(),
    name: t.String(),
    kind: oneOf(['folder', 'url', 'sitemap', 'site', 'query', 'table'], { $id: 'SourceKind' }),
    ...SOURCE_PARAMETERS,
    schedule: orNull(t.String(), { description: 'A cron expression (UTC) or `every 15 minutes`' }),
    watch: t.Boolean({ description: 'Of a folder: it runs when something in it changes' }),
    remove_vanished: t.Boolean(),
    created_at: TIME,
    updated_at: TIME,
    knowledge_base: t.String(),
    project: t.String(),
    job_id: orNull(t.Integer(), { description: 'The job that runs it now' }),
    next_run_at: TIME_OR_NULL,
    watching: orNull(oneOf(['events', 'polling']), { description: 'null: it is not watched' }),
    watch_note: orNull(t.String()),
    last_run: orNull(SOURCE_RUN),
  },
  { $id: 'Source', description: 'What a knowledge base is kept in step with' },
)

export const DATABASE_CHECK = t.Object(
  { success: t.Boolean(), error_message: orNull(t.String()) },
  { $id: 'DatabaseCheck' },
)

const DATABASE_FIELDS = {
  name: t.String(),
  type: oneOf(['project', 'data', 'system'], { $id: 'DatabaseType' }),
  id: orNull(t.Integer()),
  engine: orNull(t.String()),
  visible: t.Boolean(),
  deletable: t.Boolean(),
  class_type: t.Optional(t.String()),
  connection_data: t.Optional(
    t.Record(t.String(), t.Unknown(), { description: 'Its parameters, secrets masked' }),
  ),
  created_at: t.Optional(TIME),
  updated_at: t.Optional(TIME),
}

export const DATABASE = t.Object(
  { ...DATABASE_FIELDS, connection_status: t.Optional(DATABASE_CHECK) },
  {
    $id: 'Database',
    description: 'A namespace of SQL: a project, a data source, or one that is built in',
    examples: [
      { name: 'mindsdb', type: 'project', id: 1, engine: null, visible: true, deletable: false },
    ],
  },
)

export const CONNECTION_FAILURE = t.Object(
  { status: oneOf(['connection_error']), detail: t.String() },
  { $id: 'ConnectionFailure', description: 'Nothing was made' },
)

export const CONNECTION_STATUS = t.Object(
  { status: oneOf(['success', 'connection_error']), detail: t.Optional(t.String()) },
  { $id: 'ConnectionStatus' },
)

export const TREE_ROOT = t.Object({ ...DATABASE_FIELDS, class: oneOf(['db']) }, { $id: 'TreeRoot' })

const NODE_FIELDS = {
  name: t.String(),
  schema: orNull(t.String()),
  class: oneOf(['table', 'schema']),
  type: t.String({ description: 'knowledge_base, table, view, agent, schema' }),
  engine: orNull(t.String()),
  deletable: t.Boolean(),
}

export const TREE_NODE = t.Object(
  {
    ...NODE_FIELDS,
    children: t.Optional(
      t.Array(t.Object({ ...NODE_FIELDS, children: t.Optional(t.Array(FIELDS)) })),
    ),
  },
  { $id: 'TreeNode' },
)

export const DATABASE_TABLES = t.Object(
  { data: t.Array(t.Object({ name: t.String(), tables: TEXTS })) },
  { $id: 'DatabaseTables' },
)

export const TABLE_NAME = t.Object(
  { name: t.String(), type: t.String({ description: 'data, view, …' }) },
  { $id: 'TableName' },
)

export const TABLE = t.Object(
  {
    name: t.String(),
    type: oneOf(['data']),
    columns: t.Array(
      t.Object(
        { name: t.String(), type: t.String(), nullable: t.Boolean() },
        { $id: 'TableColumn' },
      ),
    ),
  },
  { $id: 'Table' },
)
