import { AppError } from '../../core/errors.ts'
import type { Options, StatementReader } from './statement-reader.ts'

/** A project is a database as well: existing clients make one as `CREATE DATABASE p ENGINE = 'mindsdb'`. */
export type DatabaseStatement =
  | {
      readonly kind: 'create_database'
      readonly name: string
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      /** null: a project. */
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
      /** Written as DROP PROJECT, which never means a data source. */
      readonly isProject: boolean
    }
  | { readonly kind: 'describe_database'; readonly name: string }

const WHAT = 'the name of a database'

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
    const name = read.name(WHAT)
    const { engine = null, parameters } = definition(read)
    if (engine === null && parameters === undefined) throw read.expected('PARAMETERS')
    return { kind: 'alter_database', name, engine, parameters: parameters ?? {} }
  }
  const isProject = read.takeWords('drop', 'project')
  if (isProject || read.takeWords('drop', 'database')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_database', ifExists, name: read.name(WHAT), isProject }
  }
  if (read.takeWords('describe', 'database')) {
    return { kind: 'describe_database', name: read.name(WHAT) }
  }
  return undefined
}

function create(read: StatementReader, orReplace: boolean) {
  const ifNotExists = !orReplace && read.takeWords('if', 'not', 'exists')
  const name = read.name(WHAT)
  const { engine, parameters = {} } = definition(read)
  const isProject = engine === undefined || engine.toLowerCase() === PROJECT_ENGINE
  if (isProject && (orReplace || Object.keys(parameters).length > 0)) {
    throw read.expected(`ENGINE = '…'; a project has no parameters and is not replaced`)
  }
  const kind = 'create_database' as const
  return { kind, name, ifNotExists, orReplace, engine: isProject ? null : engine, parameters }
}

/** `[WITH] ENGINE = 'e', PARAMETERS = {…}`, as far as they are there, in any order. */
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
