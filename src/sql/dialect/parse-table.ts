import { AppError } from '../../core/errors.ts'
import { type SourceSelect, takeSourceSelect } from './source-select.ts'
import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'
import {
  type AlterTable,
  alterTable,
  type TableDefinition,
  tableDefinition,
} from './table-definition.ts'

export type TableStatement =
  | {
      readonly kind: 'create_table'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      readonly source: SourceSelect | TableDefinition
    }
  | AlterTable
  /** What to vacuum: a table, a file or a knowledge base; null: everything. */
  | { readonly kind: 'vacuum'; readonly name: QualifiedName | null }

/** Matches the start of a query. */
const QUERY = /^(\(|(select|with|from|values|table|pivot|unpivot|describe|show|summarize)\b)/i

const WHAT = 'a table'

export function tableStatement(read: StatementReader): TableStatement | undefined {
  const orReplace = read.takeWords('create', 'or', 'replace', 'table')
  if (orReplace || read.takeWords('create', 'table')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = read.qualifiedName(WHAT)
    // MindsDB clients omit AS: `CREATE TABLE t (SELECT …)` and `CREATE TABLE t SELECT …`.
    const isQuery = read.takeWords('as') || isEnclosedQuery(read) || read.peekWord() === 'select'
    if (!isQuery && !read.isAt('(')) throw read.expected('AS and a SELECT, or "(" and the columns')
    const source = isQuery ? querySource(read) : tableDefinition(read)
    return { kind: 'create_table', name, ifNotExists, orReplace, source }
  }
  if (read.takeWords('alter', 'table')) return alterTable(read)
  if (read.takeWords('vacuum')) {
    return { kind: 'vacuum', name: read.isAtEnd() ? null : read.qualifiedName(WHAT) }
  }
  return undefined
}

function isEnclosedQuery(read: StatementReader): boolean {
  const isNested = read.isAt('(') && read.isAt('(', 1)
  return isNested || (read.isAt('(') && /^(select|with|from|values)$/.test(read.peekWord(1) ?? ''))
}

function querySource(read: StatementReader): SourceSelect {
  const source = takeSourceSelect(read)
  if (QUERY.test(source.select)) return source
  const message = 'A table is made of a SELECT: CREATE TABLE name AS SELECT …'
  throw new AppError('sql_not_supported', message)
}

/** MindsDB clients create a project as `CREATE DATABASE p ENGINE = 'mindsdb'`. */
export type DatabaseStatement =
  | {
      readonly kind: 'create_database'
      readonly name: string
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      /** Null for a project. */
      readonly engine: string | null
      readonly parameters: Options
    }
  | {
      readonly kind: 'alter_database'
      readonly name: string
      readonly engine: string | null
      readonly parameters: Options
    }
  | {
      readonly kind: 'drop_database'
      readonly name: string
      readonly ifExists: boolean
      /** True for DROP PROJECT, which never drops a data source. */
      readonly isProject: boolean
    }
  | { readonly kind: 'describe_database'; readonly name: string }

const DATABASE_NAME = 'the name of a database'

export function databaseStatement(read: StatementReader): DatabaseStatement | undefined {
  const isDefinition =
    (read.peekWord() === 'create' || read.peekWord() === 'alter') &&
    (read.peekWord(1) === 'database' || read.peekWord(3) === 'database')
  if (isDefinition) read.hideTexts()
  if (read.takeWords('create', 'or', 'replace', 'database')) return create(read, true)
  if (read.takeWords('create', 'database')) return create(read, false)
  if (read.takeWords('create', 'project')) {
    const statement = create(read, false)
    if (statement.engine === null) return statement
    const message = 'A project has no engine; CREATE DATABASE … ENGINE … makes a data source'
    throw new AppError('sql_not_supported', message)
  }
  if (read.takeWords('alter', 'database')) {
    const name = read.name(DATABASE_NAME)
    const { engine = null, parameters } = definition(read)
    if (engine === null && parameters === undefined) throw read.expected('PARAMETERS')
    return { kind: 'alter_database', name, engine, parameters: parameters ?? {} }
  }
  const isProject = read.takeWords('drop', 'project')
  if (isProject || read.takeWords('drop', 'database')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_database', ifExists, name: read.name(DATABASE_NAME), isProject }
  }
  if (read.takeWords('describe', 'database')) {
    return { kind: 'describe_database', name: read.name(DATABASE_NAME) }
  }
  return undefined
}

function create(read: StatementReader, orReplace: boolean) {
  const ifNotExists = !orReplace && read.takeWords('if', 'not', 'exists')
  const name = read.name(DATABASE_NAME)
  const { engine, parameters = {} } = definition(read)
  const isProject = engine === undefined || engine.toLowerCase() === PROJECT_ENGINE
  if (isProject && (orReplace || Object.keys(parameters).length > 0)) {
    throw read.expected(`ENGINE = '…'; a project has no parameters and is not replaced`)
  }
  const kind = 'create_database' as const
  return { kind, name, ifNotExists, orReplace, engine: isProject ? null : engine, parameters }
}

/** Parses `[WITH] ENGINE = 'e', PARAMETERS = {…}`. Both are optional and may come in any order. */
function definition(read: StatementReader): { engine?: string; parameters?: Options } {
  const found: { engine?: string; parameters?: Options } = {}
  read.takeWords('with')
  for (;;) {
    read.takeSymbol(',')
    if (found.engine === undefined && read.takeWords('engine')) {
      read.takeSymbol('=')
      found.engine = read.peekWord() === undefined ? read.string() : read.name('an engine')
    } else if (found.parameters === undefined && read.takeWords('parameters')) {
      read.takeSymbol('=')
      found.parameters = read.object()
    } else return found
  }
}

const PROJECT_ENGINE = 'mindsdb'
