import { findDataSource } from '../../core/domain/access/catalog-snapshot.ts'
import type { Principal } from '../../core/domain/access/principal.ts'
import {
  type DataSource,
  type DataSourceDraft,
  type DataSourceEngine,
  MASK,
  maskedParameters,
  SOURCE_PARAMETERS,
  sourceEngineOf,
  sourceParameters,
} from '../../core/domain/flow/source-parameters.ts'
import type { VectorIndexDefinition, VectorIndexType } from '../../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ModelRef } from '../../core/domain/model-ref.ts'
import {
  checkedName,
  DEFAULT_PROJECT,
  FILES_DATABASE,
  type Project,
} from '../../core/domain/names.ts'
import type { DataSources } from '../../core/domain/ports/engine-ports.ts'
import type { EmbedderRegistry, RerankerRegistry } from '../../core/domain/ports/model-ports.ts'
import type { KnowledgeBaseStorages } from '../../core/domain/ports/storage-ports.ts'
import type {
  Catalog,
  DataSourceCatalog,
  Reembeddings,
} from '../../core/domain/ports/store-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { startDeadline } from '../../core/runtime/cancellation.ts'
import { type Bounds, FieldReader, type Fields } from './fields.ts'

/** The time limit for a connection check that a client waits for. */
const CHECK_MS = 10_000
/** The time limit for CREATE DATABASE, which stores the database even if the check fails. */
export const QUICK_CHECK_MS = 3_000

export interface DatabaseDefinition {
  readonly name: string
  /** The engine's name as the client wrote it. */
  readonly engine: string
  readonly parameters: Fields
}

/** Does not connect. @throws AppError `invalid_name`, `unknown_engine`, `database_exists`, … */
export async function createDatabase(
  definition: DatabaseDefinition,
  deps: DatabaseDeps,
  orReplace = false,
): Promise<DataSource> {
  const draft = databaseDraft(definition)
  const replaced = orReplace ? findDataSource(deps.catalog.snapshot(), definition.name) : undefined
  const created = await deps.dataSources.createDataSource(draft, orReplace)
  if (replaced !== undefined) await deps.sources.forget(replaced)
  return created
}

/** To check it, not stored. @throws AppError like `createDatabase`, for its definition */
export function databaseDraft({ name, engine, parameters }: DatabaseDefinition): DataSourceDraft {
  checkedName('database', name)
  checkReserved(name)
  const known = engineNamed(engine)
  refuseMasks(parameters)
  return { name, engine: known, parameters: sourceParameters(known, parameters) }
}

/**
 * Changes the given parameters; null removes one. A different engine starts without parameters.
 * @param check gets the result first, and prevents the change by throwing
 * @throws AppError `unknown_engine`, `unknown_field`, `invalid_database`, `database_not_found`
 */
export async function alterDatabase(
  source: DataSource,
  changes: { readonly engine?: string | null; readonly parameters: Fields },
  deps: DatabaseDeps,
  check: (draft: DataSourceDraft) => Promise<void> = async () => {},
): Promise<DataSource> {
  await check({ name: source.name, ...databaseChanges(source, changes) })
  const altered = await deps.dataSources.alterDataSource(source, (stored) => {
    return databaseChanges(stored, changes)
  })
  await deps.sources.forget(source)
  return altered
}

function databaseChanges(
  source: DataSource,
  { engine: wanted, parameters: sent }: Parameters<typeof alterDatabase>[1],
): Pick<DataSource, 'engine' | 'parameters'> {
  const engine = wanted === undefined || wanted === null ? source.engine : engineNamed(wanted)
  if (engine !== source.engine) {
    refuseMasks(sent)
    return { engine, parameters: sourceParameters(engine, sent) }
  }
  const named = namedParameters(engine, sent)
  const kept = Object.entries(source.parameters).filter(([name]) => !(name in named))
  const unmasked = Object.entries(named).map(([name, value]) => {
    return [name, value === MASK ? (source.parameters[name] ?? null) : value]
  })
  const merged = sourceParameters(engine, Object.fromEntries([...kept, ...unmasked]))
  refuseToSendSecretsElsewhere(source, { merged, named })
  return { engine, parameters: merged }
}

/** A user who may alter a database must not obtain its password by naming another address. */
function refuseToSendSecretsElsewhere(
  { engine, parameters: stored }: DataSource,
  { merged, named }: { readonly merged: Fields; readonly named: Fields },
): void {
  const moved = ADDRESS.find((name) => (merged[name] ?? null) !== (stored[name] ?? null))
  if (moved === undefined) return
  const secrets = SOURCE_PARAMETERS[engine].filter(({ isSecret }) => isSecret)
  for (const { name } of secrets) {
    const isSentAgain = name in named && named[name] !== MASK
    if (merged[name] === undefined || isSentAgain) continue
    const why = `${moved} differs from the one it was given for`
    throw new AppError('invalid_database', `Parameter ${name} must be sent again: ${why}`)
  }
}

const ADDRESS = ['url', 'host', 'port']

/**
 * Resolves aliases of parameter names. Values stay as they are. @throws AppError `unknown_field`
 */
function namedParameters(engine: DataSourceEngine, sent: Fields): Fields {
  const entries = Object.entries(sent).map(([name, value]) => {
    const key = name.toLowerCase()
    const known = SOURCE_PARAMETERS[engine].find((parameter) => {
      return parameter.name === key || parameter.aliases.includes(key)
    })
    return [known?.name ?? name, value] as const
  })
  return Object.fromEntries(entries)
}

/** Copied data is kept. @throws AppError `database_in_use`, `database_not_found` */
export async function dropDatabase(source: DataSource, deps: DatabaseDeps): Promise<void> {
  const uses = await deps.databaseUses(source)
  if (uses.length > 0) {
    const shown = uses.slice(0, 5).join(', ')
    const rest = uses.length > 5 ? ` and ${uses.length - 5} more` : ''
    const message = `Database ${source.name} is used by ${shown}${rest}: drop or change that first`
    throw new AppError('database_in_use', message)
  }
  await deps.dataSources.dropDataSource(source)
  await deps.sources.forget(source)
}

export type DatabaseCheck =
  | { readonly success: true; readonly errorMessage: null }
  | { readonly success: false; readonly errorMessage: string }

/** Tries to connect and returns the result. Throws only if the client disconnects. */
export async function checkDatabase(
  source: DataSource,
  deps: DatabaseDeps,
  signal: AbortSignal,
  timeoutMs = CHECK_MS,
): Promise<DatabaseCheck> {
  const deadline = startDeadline({
    timeoutMs,
    signals: [signal],
    timeoutError: (ms) => {
      const message = `Database ${source.name} did not answer within ${ms / 1000} s`
      return new AppError('source_failed', message)
    },
  })
  try {
    await deps.sources.check(source, deadline.signal)
    return { success: true, errorMessage: null }
  } catch (error) {
    signal.throwIfAborted()
    const found = deadline.signal.aborted ? deadline.signal.reason : error
    return { success: false, errorMessage: toAppError(found).message }
  } finally {
    deadline.end()
  }
}

/** Returns the parameters as responses show them. */
export function shownParameters({ engine, parameters }: DataSource): Fields {
  return maskedParameters(engine, parameters)
}

/** @throws AppError `unknown_engine` */
function engineNamed(name: string): DataSourceEngine {
  const engine = sourceEngineOf(name.trim())
  if (engine !== undefined) return engine
  const known = Object.keys(SOURCE_PARAMETERS).join(', ')
  const message = `Unknown engine "${name.slice(0, 80)}". Available engines: ${known}, mindsdb`
  throw new AppError('unknown_engine', message)
}

/** @throws AppError `invalid_database` for a masked value that replaces nothing stored */
function refuseMasks(parameters: Fields): void {
  const masked = Object.entries(parameters).find(([, value]) => value === MASK)
  if (masked === undefined) return
  const message = `Parameter ${masked[0].slice(0, 80)} is ${MASK}, which hides a value; send the value itself`
  throw new AppError('invalid_database', message)
}

/** Names that mean something else in SQL, so databases cannot use them. */
const RESERVED_NAMES = new Set([
  FILES_DATABASE,
  'information_schema',
  'log',
  'main',
  'temp',
  'system',
])

/** @throws AppError `invalid_name`, `project_exists`, `database_exists` */
export async function createProject(name: string, deps: CatalogDeps): Promise<Project> {
  checkedName('project', name)
  checkReserved(name)
  return deps.catalog.createProject(name)
}

/** @throws AppError `invalid_name` for a name reserved in SQL */
function checkReserved(name: string): void {
  if (!RESERVED_NAMES.has(name.toLowerCase())) return
  throw new AppError('invalid_name', `The name "${name}" is reserved; choose another one`)
}

/** Drops the project with its knowledge bases and agents. @throws AppError `project_not_deletable` */
export async function dropProject(project: Project, deps: CatalogDeps): Promise<void> {
  if (project.name === DEFAULT_PROJECT) {
    throw new AppError('project_not_deletable', `Project ${project.name} cannot be deleted`)
  }
  for (const kb of deps.catalog.snapshot().knowledgeBases) {
    if (kb.projectId === project.id) await deps.storages.drop(kb)
  }
  await deps.catalog.dropProject(project)
}

const INVALID_INDEX = 'invalid_request'

/** The options of each index type, apart from the metric. */
const INDEX_OPTIONS: Readonly<Record<VectorIndexType, Readonly<Record<string, Bounds>>>> = {
  exact: {},
  ivf: {
    nlist: { min: 1, max: 65_536 },
    train_count: { min: 1, max: 100_000_000 },
  },
  hnsw: {
    m: { min: 2, max: 100 },
    ef_construction: { min: 4, max: 2000 },
    ef_search: { min: 1, max: 4096 },
  },
}

const INDEX_TYPES = 'hnsw, ivf, exact and auto'

/** Without a type, Eider chooses. @throws AppError `invalid_request`, `unknown_field` */
export async function createVectorIndex(
  kb: KnowledgeBase,
  sent: Fields,
  deps: CatalogDeps,
): Promise<void> {
  const vectorIndex = vectorIndexOf(sent)
  await deps.storages.index(kb, vectorIndex)
  await deps.catalog.alterKnowledgeBase(kb, { vectorIndex })
}

/** Removes the chosen index, so Eider chooses again. @throws AppError `knowledge_base_not_found` */
export async function dropVectorIndex(kb: KnowledgeBase, deps: CatalogDeps): Promise<void> {
  await deps.storages.index(kb, null)
  await deps.catalog.alterKnowledgeBase(kb, { vectorIndex: null })
}

function vectorIndexOf(sent: Fields): VectorIndexDefinition | null {
  const read = new FieldReader(sent, INVALID_INDEX)
  const type = indexType(read.text('type'), sent)
  const known = type === null ? {} : INDEX_OPTIONS[type]
  const names = ['type', 'metric', ...Object.keys(known)]
  read.allowOnly(new Set(names), (name) => {
    const what = `An index of the type ${type ?? 'auto'} has no option "${name}"`
    return `${what}; there are ${names.join(', ')}`
  })
  checkMetric(read.text('metric'))
  if (type === null) return null
  const options = Object.entries(known).flatMap(([name, bounds]) => {
    const value = read.integer(name, bounds)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { type, options: Object.fromEntries(options) }
}

/** Null if Eider should choose. */
function indexType(text: string | undefined, sent: Fields): VectorIndexType | null {
  if (text === undefined) {
    const [first] = Object.keys(sent)
    if (first === undefined) return null
    const why = Object.hasOwn(sent, 'type')
      ? '"type" is null'
      : `"${first}" needs a "type" beside it`
    throw new AppError(INVALID_INDEX, `${why}; there are ${INDEX_TYPES}`)
  }
  const type = text.toLowerCase()
  if (type === 'auto') return null
  // MindsDB clients use `ivf_file` for an IVF index stored in a file.
  if (type === 'ivf' || type === 'ivf_file') return 'ivf'
  if (type === 'hnsw' || type === 'exact') return type
  const message = `There is no index of the type "${text.slice(0, 80)}"; there are ${INDEX_TYPES}`
  throw new AppError(INVALID_INDEX, message)
}

function checkMetric(metric: string | undefined): void {
  if (metric === undefined || metric.toLowerCase() === 'cosine') return
  const message = `The metric "${metric.slice(0, 80)}" is not supported; there is cosine`
  throw new AppError(INVALID_INDEX, message)
}

/** Dependencies for creating, altering and dropping objects. */
export interface CatalogDeps {
  readonly catalog: Catalog
  readonly embedders: EmbedderRegistry
  readonly rerankers: RerankerRegistry
  /** Providers that an agent's model may use. */
  readonly chatProviders: readonly string[]
  /** A name that does not resolve passes: each connection checks again. @throws AppError */
  readonly checkAddress: (ref: ModelRef) => Promise<void>
  /** Checks the address of an MCP server. @throws AppError `address_refused` */
  readonly checkServerAddress: (url: URL) => Promise<void>
  readonly reembeddings: Reembeddings
  /** Databases that can store knowledge bases. */
  readonly storages: KnowledgeBaseStorages
  /** The user or key that makes the change; unset for the server itself. */
  readonly author?: Principal
  readonly agentHasModel?: (ref: ModelRef | null) => void
}

export interface DatabaseDeps extends CatalogDeps {
  readonly dataSources: DataSourceCatalog
  readonly sources: DataSources
  /** For example `job mindsdb.j`. If there is anything, it cannot be dropped. */
  readonly databaseUses: (source: DataSource) => Promise<readonly string[]>
}
