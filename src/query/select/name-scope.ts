import {
  type CatalogSnapshot,
  findDataSource,
  findFileTable,
  findIn,
  findProject,
  ofProject,
  seenDataSource,
} from '../../core/domain/access/catalog-snapshot.ts'
import { requireRight } from '../../core/domain/access/principal.ts'
import { isHidden } from '../../core/domain/access/visible-catalog.ts'
import { type AllowedData, nameMeant, notAvailable } from '../../core/domain/agents/agent.ts'
import { FILES_SCHEMA, fileTable, projectSchema, projectTable } from '../../core/domain/document.ts'
import { FILES_DATABASE, type Project, quote } from '../../core/domain/names.ts'
import { fileKey, namesWithoutEnding, tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import { TABLE_FUNCTIONS } from '../../sql/guard/guard.ts'
import { nativeText, withNativeNames } from '../../sql/lexer/database-names.ts'
import type { SourceFrom } from '../../sql/pushdown/source-read.ts'
import type { NameScope, Relation } from '../../sql/search/plan-inputs.ts'
import {
  INFORMATION_SCHEMA,
  INFORMATION_SCHEMA_TABLES,
  informationSchemaSql,
  projectSchemaSql,
} from '../information-schema/information-schema.ts'
import {
  type DescribedTables,
  UndescribedTable,
  type WantedTable,
  wantedTableKey,
} from './plan-cache.ts'
import { similarName } from './statement-errors.ts'

/**
 * Resolves the tables that a statement may name: all in the catalog, or for an agent only the
 * allowed ones.
 * @param database the project of unqualified names, or `files`
 * @param tables the known remote tables; null if their columns do not matter
 */
export function nameScope(
  snapshot: CatalogSnapshot,
  database: string,
  allowed?: AllowedData,
  tables: DescribedTables | null = null,
): NameScope {
  return {
    isHybridByDefault: allowed !== undefined,
    resolve(written) {
      const parts = allowed === undefined ? written : partsMeant(written, database, allowed)
      const whole = parts.length === 1 ? [database, ...parts] : parts
      if (allowed !== undefined) checkAllowedSource(snapshot, whole, allowed)
      const found = sourceRelation(snapshot, whole, tables)
      const { rights } = snapshot.limits ?? {}
      if (found !== undefined) {
        requireRight(rights, 'read')
        return found
      }
      const [qualifier, name] = qualifiedName(parts, database)
      const relation = find(snapshot, qualifier, name, tables)
      requireRight(rights, relation?.kind === 'agent' ? 'ask' : 'read')
      if (relation === undefined) {
        // Do not reveal other names to an agent.
        if (allowed !== undefined) throw notAllowed(written.join('.'), allowed)
        throw missingRelation(snapshot, qualifier, name)
      }
      if (allowed !== undefined) {
        const fullName = `${qualifier}.${canonicalName(snapshot, qualifier, name)}`
        if (!isAllowed(relation, fullName, allowed)) throw notAllowed(fullName, allowed)
      }
      return relation
    },
  }
}

/** `files.teas.csv` names a file even without quotes. @throws AppError `sql_unknown_name` */
function qualifiedName(parts: readonly string[], database: string): readonly [string, string] {
  const [first = '', ...rest] = parts
  if (rest.length === 0) return [database, first]
  if (rest.length === 1 || isFiles(first)) return [first, rest.join('.')]
  throw unknown(parts.join('.'), 'expected at most project.name')
}

function isFiles(qualifier: string): boolean {
  return qualifier.toLowerCase() === FILES_DATABASE
}

/** A file can be named in several ways. The list of allowed tables has its full name. */
function canonicalName(snapshot: CatalogSnapshot, qualifier: string, name: string): string {
  return isFiles(qualifier) ? (findFileTable(snapshot, name)?.name ?? name) : name
}

/** Replaces native SQL for databases in the SELECT by names. */
export function nativeNamed(sql: string, snapshot: CatalogSnapshot): string {
  if (snapshot.dataSources.length === 0) return sql
  return withNativeNames(
    sql,
    (name) => seenDataSource(snapshot, name)?.engine,
    (name) => TABLE_FUNCTIONS.has(name.toLowerCase()),
  )
}

/** Returns a remote table, or a SELECT in its database's SQL; undefined for any other name. */
function sourceRelation(
  snapshot: CatalogSnapshot,
  [qualifier = '', ...names]: readonly string[],
  tables: DescribedTables | null,
): Extract<Relation, { kind: 'source' }> | undefined {
  const found = findDataSource(snapshot, qualifier)
  if (found === undefined) return undefined
  const { id, name, engine } = found
  const source = { id, name, engine }
  const native = names.length === 1 ? nativeText(names[0] ?? '') : undefined
  const wanted: WantedTable['wanted'] =
    native === undefined ? { kind: 'table', names } : { kind: 'native', sql: native }
  const from = native === undefined ? tableNamed(names) : { kind: 'native' as const, sql: native }
  if (tables === null) return { kind: 'source', source, from, columns: [] }
  const table: WantedTable = { sourceId: id, sourceName: name, wanted }
  const described = tables.get(wantedTableKey(table))
  if (described === undefined) throw new UndescribedTable(table)
  if (described.from !== null) return { kind: 'source', source, ...described }
  const message = `Table '${names.join('.')}' not found in database: ${name}${described.hint}`
  throw new AppError('sql_unknown_name', message)
}

function tableNamed(names: readonly string[]): SourceFrom {
  if (names.length > 2) throw unknown(names.join('.'), 'expected at most database.schema.table')
  const [schema, name] = names.length === 2 ? names : [null, ...names]
  return { kind: 'table', table: { schema: schema ?? null, name: name ?? '' } }
}

/** Before anything is requested from a remote database. @throws AppError `sql_forbidden` */
function checkAllowedSource(
  snapshot: CatalogSnapshot,
  parts: readonly string[],
  allowed: AllowedData,
): void {
  const [qualifier = '', name = ''] = parts
  const source = findDataSource(snapshot, qualifier)
  if (source === undefined) return
  if (nativeText(name) !== undefined) {
    const message = `SQL of the database's own is not available here: name its tables as ${source.name}.<table>`
    throw new AppError('sql_forbidden', message)
  }
  const key = parts.join('.').toLowerCase()
  if (!allowed.tables.some((table) => table.toLowerCase() === key)) {
    throw notAllowed(parts.join('.'), allowed)
  }
}

/** The namespace where MindsDB clients expect the history of jobs. */
const LOG = 'log'
const JOBS_HISTORY = 'jobs_history'

function find(
  snapshot: CatalogSnapshot,
  qualifier: string,
  name: string,
  tables: DescribedTables | null,
): Relation | undefined {
  if (isFiles(qualifier)) {
    const table = findFileTable(snapshot, name)
    if (table === undefined) return undefined
    return { kind: 'table', schema: FILES_SCHEMA, table: fileTable(table.file.id, table.index) }
  }
  if (qualifier.toLowerCase() === INFORMATION_SCHEMA) {
    const sql = informationSchemaSql(snapshot, name)
    return sql === undefined ? undefined : { kind: 'query', sql }
  }
  if (qualifier.toLowerCase() === LOG && name.toLowerCase() === JOBS_HISTORY) {
    const sql = informationSchemaSql(snapshot, name)
    return sql === undefined ? undefined : { kind: 'query', sql }
  }
  const project = findProject(snapshot, qualifier)
  return project && findInProject(snapshot, project, name, tables)
}

function findInProject(
  snapshot: CatalogSnapshot,
  project: Project,
  name: string,
  tables: DescribedTables | null,
): Relation | undefined {
  const knowledgeBase = findIn(snapshot.knowledgeBases, project, name)
  if (knowledgeBase !== undefined) return { kind: 'knowledge_base', knowledgeBase }
  const table = findIn(snapshot.tables, project, name)
  if (table !== undefined) {
    const schema = projectSchema(table.projectId)
    return { kind: 'table', schema, table: projectTable(table.id) }
  }
  const view = findIn(snapshot.views, project, name)
  if (view !== undefined) {
    if (isHidden(view)) {
      const message = `This key or user may not use all that the view ${name} reads`
      throw new AppError('forbidden', message)
    }
    return {
      kind: 'view',
      sql: nativeNamed(view.sql, snapshot),
      names: nameScope(snapshot, view.database, undefined, tables),
    }
  }
  const agent = findIn(snapshot.agents, project, name)
  if (agent !== undefined) return { kind: 'agent', agent }
  const sql = projectSchemaSql(snapshot, project, name)
  return sql === undefined ? undefined : { kind: 'query', sql }
}

function isAllowed(relation: Relation, name: string, allowed: AllowedData): boolean {
  if (relation.kind === 'query' || relation.kind === 'agent') return false
  if (relation.kind === 'knowledge_base') {
    return allowed.knowledgeBases.some((kb) => kb.id === relation.knowledgeBase.id)
  }
  return allowed.tables.some((table) => table.toLowerCase() === name.toLowerCase())
}

function unknown(name: string, why: string): AppError {
  return new AppError('sql_unknown_name', `Table '${name}' not found: ${why}`)
}

function missingRelation(snapshot: CatalogSnapshot, qualifier: string, name: string): AppError {
  if (qualifier.toLowerCase() === INFORMATION_SCHEMA) {
    const nearest = nearestName(name, INFORMATION_SCHEMA_TABLES)
    const known = `information_schema has the tables ${INFORMATION_SCHEMA_TABLES.join(', ')}`
    const hint = nearest === undefined ? known : `did you mean "${nearest}"?`
    return unknown(`${qualifier}.${name}`, hint)
  }
  const project = findProject(snapshot, qualifier)
  if (!isFiles(qualifier) && project === undefined) {
    const named = [...snapshot.projects, ...snapshot.dataSources]
    const projects = [...named.map((one) => one.name), FILES_DATABASE]
    const hint = hintOf(snapshot, [name, `${qualifier}.${name}`], nearestName(qualifier, projects))
    return unknown(`${qualifier}.${name}`, `there is no project or database "${qualifier}"${hint}`)
  }
  const nearest = project && similarName(name, relationNames(snapshot, project))
  const upload = DATA_FILE.test(name) ? `. ${UPLOAD}` : ''
  const hint = hintOf(snapshot, [name], nearest) || upload
  const message = `Table '${name}' not found in database: ${qualifier}${hint}`
  return new AppError('sql_unknown_name', message)
}

/** File names that DuckDB itself would read from disk. */
const DATA_FILE = /\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet|xlsx)(?:\.(?:gz|zst))?$/i
const UPLOAD = 'To read a file, upload it with PUT /api/files/<name>, and name it files.<name>'

function fileNames(snapshot: CatalogSnapshot): readonly string[] {
  return snapshot.files.flatMap(tablesOfFile).flatMap(({ name, index }) => {
    return index === 0 ? [name, ...namesWithoutEnding(name)] : [name]
  })
}

/** Suggests a file with one of these names, or else `nearest`, or else a file with a similar name. */
function hintOf(
  snapshot: CatalogSnapshot,
  names: readonly string[],
  nearest: string | undefined,
): string {
  const files = fileNames(snapshot)
  const keys = names.map((name) => fileKey(name).replace(`${FILES_DATABASE}.`, ''))
  const exact = files.find((name) => keys.includes(fileKey(name)))
  const file = exact ?? (nearest === undefined ? similarName(names.at(-1) ?? '', files) : undefined)
  return file === undefined
    ? didYouMean(nearest)
    : `. Did you mean ${FILES_DATABASE}.${quote(file)}?`
}

function relationNames(snapshot: CatalogSnapshot, project: Project): readonly string[] {
  const { knowledgeBases, views, tables, agents } = snapshot
  const relations = ofProject([...knowledgeBases, ...views, ...tables, ...agents], project)
  return relations.map(({ name }) => name)
}

function notAllowed(name: string, allowed: AllowedData): AppError {
  return new AppError('sql_forbidden', notAvailable(name, allowedNames(allowed)))
}

function allowedNames({ knowledgeBases, tables }: AllowedData): readonly string[] {
  return [...knowledgeBases.map((kb) => `${kb.projectName}.${kb.name}`), ...tables]
}

/** Models write names in many ways. Without a match it stays, and is refused. */
function partsMeant(
  parts: readonly string[],
  database: string,
  allowed: AllowedData,
): readonly string[] {
  const meant = nameMeant(parts.join('.'), database, allowedNames(allowed))
  if (meant === undefined) return parts
  const [qualifier = '', ...rest] = meant.split('.')
  return isFiles(qualifier) ? [qualifier, rest.join('.')] : [qualifier, ...rest]
}
