/** Creates, checks, describes and drops the PostgreSQL tables of a knowledge base. */

import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { RunRemote, StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'

/** The version of the tables' layout. Later versions of Eider use a higher number. */
const FORMAT = 1
export const SCHEMA = 'eider'
export const BASES = `${SCHEMA}.knowledge_bases`
const PGVECTOR_MIN = '0.8.0'
/** Leaves room for suffixes: PostgreSQL truncates names after 63 bytes. */
const TABLE_CHARS_MAX = 50

export function remoteTables({ table }: Pick<StoragePlace, 'table'>): {
  readonly chunks: string
  /** Columns `term, chunk_count`: how many chunks contain each term. */
  readonly terms: string
  /** Columns `chunk_key, revision`: the chunks that recent writes removed. */
  readonly removed: string
  readonly index: string
} {
  const named = (part: string) => `${SCHEMA}.${quote(`${table}${part}`)}`
  return {
    chunks: named(''),
    terms: named(':terms'),
    removed: named(':removed'),
    index: named(':hnsw'),
  }
}

export interface RemoteState {
  /** A number that grows with each write. */
  readonly revision: number
  readonly nextChunkKey: number
  readonly chunkCount: number
  readonly dimensions: number | null
  readonly columns: readonly Pick<MetadataColumn, 'name' | 'type'>[]
  /** JSON text written by `definitionOf`. */
  readonly definition: string
  readonly isIndexed: boolean
  /**
   * The foreign tables with the chunks, if these are spread over several nodes; otherwise empty.
   */
  readonly parts: readonly string[]
  /** The names of the knowledge bases that use these tables. */
  readonly attachments: readonly string[]
}

const OF_EXTENSION = `FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'`

/** For each transaction: names mean PostgreSQL's and pgvector's, in any schema. */
export const SEARCH_PATH = `(SELECT 'pg_catalog, ' || quote_ident(n.nspname) ${OF_EXTENSION})`

/** @throws AppError `invalid_database` if pgvector is missing or too old */
export async function requireExtension(run: RunRemote, place: StoragePlace): Promise<void> {
  const path = `set_config('search_path', ${SEARCH_PATH}, true)`
  const [found] = await run(`SELECT e.extversion, ${path} ${OF_EXTENSION}`)
  if (found === undefined) throw refused(place, `it has no pgvector: ${INSTALL}`)
  const version = found[0] ?? ''
  // pgvector versions are numbers separated by dots.
  if (version.localeCompare(PGVECTOR_MIN, 'en', { numeric: true }) < 0) {
    const how = 'update the package, then run ALTER EXTENSION vector UPDATE'
    throw refused(place, `its pgvector is ${version}, and Eider needs ${PGVECTOR_MIN}: ${how}`)
  }
}

const INSTALL = 'install it, then run CREATE EXTENSION vector as an administrator'

/** @throws like `KnowledgeBaseStorages.create` */
export async function createRemoteTables(
  run: RunRemote,
  place: StoragePlace,
  { definition, dimensions }: Pick<RemoteState, 'definition' | 'dimensions'>,
): Promise<void> {
  await addExtension(run, place)
  await requireExtension(run, place)
  const { table } = place
  if (table.length > TABLE_CHARS_MAX) {
    throw refused(place, `a storage table has at most ${TABLE_CHARS_MAX} characters`)
  }
  const { chunks, terms, removed } = remoteTables(place)
  const [[hasSchema, hasBases, hasTable] = []] = await run(
    `SELECT to_regnamespace('${SCHEMA}'), to_regclass('${BASES}'), to_regclass($1)`,
    [chunks],
  )
  if (hasTable !== null) {
    const isOwn = hasBases !== null && (await rowOf(run, place)) !== undefined
    const how = isOwn
      ? 'holds a knowledge base; add attach = true to use it, or name another table'
      : 'is a table that Eider did not make; name another one'
    throw new AppError('storage_in_use', `${SCHEMA}.${table} in ${place.source.name} ${how}`)
  }
  if (hasSchema === null) await run(`CREATE SCHEMA ${SCHEMA}`)
  if (hasBases === null) await run(BASES_SQL)
  const size = dimensions === null ? '' : `(${dimensions})`
  const storing = inlineVectors(place, dimensions)
  await run(`
    CREATE TABLE ${chunks} (
      chunk_key bigint PRIMARY KEY, document_id text NOT NULL, chunk_id text NOT NULL,
      content text NOT NULL, metadata json NOT NULL, typed json NOT NULL,
      context text NOT NULL, is_cut boolean NOT NULL, layout text, vector vector${size} NOT NULL,
      terms bigint[] NOT NULL, frequencies integer[] NOT NULL, term_count integer NOT NULL,
      language text NOT NULL, revision bigint NOT NULL) WITH (toast_tuple_target = ${ROW_BYTES_MAX});
    ${storing};
    CREATE INDEX ON ${chunks} (document_id);
    CREATE INDEX ON ${chunks} (revision);
    CREATE INDEX ON ${chunks} USING gin (terms);
    CREATE TABLE ${terms} (term bigint PRIMARY KEY, chunk_count bigint NOT NULL);
    CREATE TABLE ${removed} (chunk_key bigint NOT NULL, revision bigint NOT NULL);
    CREATE INDEX ON ${removed} (revision)`)
  await run(
    `INSERT INTO ${BASES} (name, format, definition, dimensions) VALUES ($1, ${FORMAT}, $2, $3)`,
    [table, definition, dimensions],
  )
}

/**
 * PostgreSQL moves values of longer rows out of the table, and reading such a value needs a lookup.
 */
const ROW_BYTES_MAX = 8160

/** Read several times faster inside their rows. Up to this length, they fit a page. */
const INLINE_DIMENSIONS_MAX = 1536

/** @param dimensions null if not known yet */
export function inlineVectors(place: StoragePlace, dimensions: number | null): string {
  const storage = dimensions !== null && dimensions <= INLINE_DIMENSIONS_MAX ? 'PLAIN' : 'EXTERNAL'
  return `ALTER TABLE ${remoteTables(place).chunks} ALTER COLUMN vector SET STORAGE ${storage}`
}

const BASES_SQL = `CREATE TABLE ${BASES} (
  name text PRIMARY KEY, format integer NOT NULL, definition text NOT NULL, dimensions integer,
  columns json NOT NULL DEFAULT '[]', revision bigint NOT NULL DEFAULT 0,
  next_chunk_key bigint NOT NULL DEFAULT 1, chunk_count bigint NOT NULL DEFAULT 0,
  term_total bigint NOT NULL DEFAULT 0, attachments text[] NOT NULL DEFAULT '{}')`

/** Works for any user with CREATE rights, because pgvector is a trusted extension. */
async function addExtension(run: RunRemote, place: StoragePlace): Promise<void> {
  const [[isThere, isAvailable] = []] = await run(
    `SELECT installed_version, default_version FROM pg_catalog.pg_available_extensions WHERE name = 'vector'`,
  )
  if (isAvailable === undefined) throw refused(place, `it has no pgvector: ${INSTALL}`)
  if (isThere === null) await run('CREATE EXTENSION vector')
}

/** @param isLocked keeps out other writers @throws AppError `table_not_found`, … */
export async function remoteState(
  run: RunRemote,
  place: StoragePlace,
  isLocked = false,
): Promise<RemoteState> {
  const row = await rowOf(run, place, isLocked)
  if (row === undefined) throw missing(place)
  const [format, definition, dimensions, columns, revision, nextChunkKey, chunkCount] = row
  const [attachments, index, parts] = row.slice(7)
  if (Number(format) > FORMAT) {
    const made = `was made by a later Eider (format ${format}; this one knows ${FORMAT})`
    throw refused(place, `${SCHEMA}.${place.table} ${made}: update Eider`)
  }
  return {
    definition: String(definition),
    dimensions: dimensions === null ? null : Number(dimensions),
    // `sendChange` wrote this value, so the type is right.
    columns: JSON.parse(String(columns)) as RemoteState['columns'],
    revision: Number(revision),
    nextChunkKey: Number(nextChunkKey),
    chunkCount: Number(chunkCount),
    isIndexed: index !== null,
    // A list of table names.
    parts: JSON.parse(String(parts)) as RemoteState['parts'],
    // `attach` wrote this value, so the type is right.
    attachments: JSON.parse(String(attachments)) as RemoteState['attachments'],
  }
}

const PARTS_SQL = `SELECT coalesce(json_agg(format('%I.%I', n.nspname, c.relname) ORDER BY c.relname)
    FILTER (WHERE c.relkind = 'f'), '[]')
  FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE i.inhparent = to_regclass($3)`

async function rowOf(run: RunRemote, place: StoragePlace, isLocked = false) {
  const [row] = await run(
    `SELECT format, definition, dimensions, columns, revision, next_chunk_key, chunk_count,
        array_to_json(attachments), to_regclass($2), (${PARTS_SQL})
      FROM ${BASES} WHERE name = $1${isLocked ? ' FOR UPDATE' : ''}`,
    [place.table, remoteTables(place).index, remoteTables(place).chunks],
  )
  return row
}

/** Increases the revision after a write. */
export async function advance(
  run: RunRemote,
  { table }: StoragePlace,
  {
    revision,
    nextChunkKey,
    dimensions,
    columns,
    chunkCount,
    termTotal,
  }: Omit<RemoteState, 'definition' | 'attachments' | 'isIndexed' | 'parts'> & {
    readonly termTotal: number
  },
): Promise<void> {
  await run(
    `UPDATE ${BASES} SET revision = $2, next_chunk_key = $3, dimensions = $4, columns = $5,
      chunk_count = chunk_count + $6, term_total = term_total + $7 WHERE name = $1`,
    [table, revision, nextChunkKey, dimensions, JSON.stringify(columns), chunkCount, termTotal],
  )
}

/** Records that a knowledge base uses the tables and has finished moving into them. */
export async function attach(run: RunRemote, { table }: StoragePlace, name: string): Promise<void> {
  const sql = `UPDATE ${BASES} SET attachments = array_append(${OTHERS}, $2) WHERE name = $1`
  await run(sql, [table, name, markOf(name, '%')])
}

/** Selects all names except `$2` and those that match `$3`, the pattern for a move. */
const OTHERS =
  'ARRAY(SELECT one FROM unnest(attachments) AS one WHERE one <> $2 AND one NOT LIKE $3)'

export const MOVING = 'moving:'

/** Of a base that is moving in. Nothing else may use the tables until then. */
export function markOf(attachment: string, content: string): string {
  return `${MOVING}${attachment}:${content}`
}

/** Removes the knowledge base's entry. The tables are dropped with the last entry. */
export async function detach(run: RunRemote, place: StoragePlace, name: string): Promise<void> {
  const [row] = await run(
    `UPDATE ${BASES} SET attachments = ${OTHERS} WHERE name = $1 RETURNING cardinality(attachments)`,
    [place.table, name, markOf(name, '%')],
  )
  if (Number(row?.[0]) === 0) await dropRemoteTables(run, place)
}

/** For tables that no other server uses yet. */
export async function setDefinition(
  run: RunRemote,
  { table }: StoragePlace,
  definition: string,
): Promise<void> {
  await run(`UPDATE ${BASES} SET definition = $2 WHERE name = $1`, [table, definition])
}

/** @returns false if the definition was changed in the meantime */
export async function replaceDefinition(
  run: RunRemote,
  { table }: StoragePlace,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> {
  const sql = `UPDATE ${BASES} SET definition = $3 WHERE name = $1 AND definition = $2 RETURNING 1`
  return (await run(sql, [table, from, to])).length === 1
}

export async function dropRemoteTables(run: RunRemote, place: StoragePlace): Promise<void> {
  const { chunks, terms, removed } = remoteTables(place)
  await run(`DROP TABLE IF EXISTS ${chunks}, ${terms}, ${removed}`)
  await run(`DELETE FROM ${BASES} WHERE name = $1`, [place.table])
}

function missing({ source, table }: StoragePlace): AppError {
  const what = `${source.name} holds no knowledge base in ${SCHEMA}.${table}`
  return new AppError('table_not_found', `${what}: check the name, or leave out attach = true`)
}

function refused({ source }: StoragePlace, why: string): AppError {
  return new AppError('invalid_database', `Database ${source.name} cannot store this: ${why}`)
}

const FAILURES: Readonly<Record<string, readonly [ErrorCode, (message: string) => string]>> = {
  '42501': [
    'invalid_database',
    (message) => `${message}; GRANT CREATE ON DATABASE … lets its login make the schema ${SCHEMA}`,
  ],
  '25006': ['source_failed', () => 'the server takes no writes: it is a standby, or read-only'],
  '42P01': [
    'table_not_found',
    (message) =>
      `${message}; the tables were dropped there: restore them, or drop the knowledge base`,
  ],
  '42883': [
    'invalid_database',
    (message) =>
      `${message}; for chunks on several nodes, run deploy/postgres-nodes/spread.sh again`,
  ],
  '53100': ['storage_full', () => 'the disk of the server is full'],
  '22P05': [
    'insert_failed',
    () => 'a text has the character NUL, which PostgreSQL does not store: remove it',
  ],
}

/** Returns the server's error with advice on what to do. */
export function remoteFailure(error: unknown, { source }: StoragePlace): unknown {
  if (typeof error !== 'object' || error === null || error instanceof AppError) return error
  // The cast is safe, because any object can have these properties.
  const { code, message } = error as Readonly<Record<string, unknown>>
  const known = FAILURES[String(code)]
  if (known === undefined) return error
  const [kind, text] = known
  return new AppError(kind, `Database ${source.name}: ${text(String(message))}`, { cause: error })
}

/** Copying this many chunks takes minutes and several gigabytes of disk space. */
const COPIED_CHUNKS_MAX = 500_000
/**
 * @throws AppError `sql_too_costly` if the knowledge base is too large to be fetched without a copy
 */
export function requireSmall(
  { name }: Pick<KnowledgeBase, 'name'>,
  { chunkCount }: RemoteState,
): void {
  if (chunkCount <= COPIED_CHUNKS_MAX) return
  const what = `${name} has ${chunkCount} chunks in PostgreSQL, and at most ${COPIED_CHUNKS_MAX} are copied`
  throw new AppError('sql_too_costly', `${what}: attach it with "copy": false`)
}
