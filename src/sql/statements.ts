/** The dialect's own statements: what DuckDB's parser does not know. One function each. */
import { AppError } from '../errors.ts'
import { StatementReader } from './statement-reader.ts'
import { type Token, withoutClosingSemicolons } from './tokens.ts'

export interface QualifiedName {
  readonly project: string | null
  readonly name: string
}

/** Option name in lower case → value: text, number, boolean, null, list or object. */
export type Options = Readonly<Record<string, unknown>>

export type Statement =
  | {
      readonly kind: 'create_knowledge_base'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly options: Options
    }
  | {
      readonly kind: 'drop_knowledge_base'
      readonly name: QualifiedName
      readonly ifExists: boolean
    }
  | { readonly kind: 'describe_knowledge_base'; readonly name: QualifiedName }
  | {
      readonly kind: 'show_knowledge_bases'
      readonly project: string | null
      readonly like: string | null
      readonly name: string | null
    }
  | {
      readonly kind: 'show_tables'
      readonly from: string | null
      readonly like: string | null
      readonly isFull: boolean
    }
  | { readonly kind: 'show_databases'; readonly isFull: boolean }
  | { readonly kind: 'create_project'; readonly name: string; readonly ifNotExists: boolean }
  | { readonly kind: 'drop_project'; readonly name: string; readonly ifExists: boolean }
  | { readonly kind: 'use'; readonly database: string }

/**
 * The statement, or undefined when it is DuckDB's to read.
 * @throws AppError `sql_syntax` with line and column, what was expected and what was found
 */
export function parseStatement(sql: string, all: readonly Token[]): Statement | undefined {
  const read = new StatementReader(sql, withoutClosingSemicolons(all))
  const statement = statementOf(read)
  if (statement !== undefined) read.expectEnd()
  return statement
}

function statementOf(read: StatementReader): Statement | undefined {
  if (read.takeWords('create', 'knowledge_base')) return createKnowledgeBase(read)
  if (read.takeWords('drop', 'knowledge_base')) return dropKnowledgeBase(read)
  if (read.takeWords('describe', 'knowledge_base')) {
    return { kind: 'describe_knowledge_base', name: qualifiedName(read) }
  }
  if (read.takeWords('show', 'knowledge_bases')) return showKnowledgeBases(read)
  if (read.takeWords('show', 'full', 'tables')) return showTables(read, true)
  if (read.takeWords('show', 'tables')) return showTables(read, false)
  if (read.takeWords('show', 'full', 'databases')) return { kind: 'show_databases', isFull: true }
  if (read.takeWords('show', 'databases') || read.takeWords('show', 'projects')) {
    return { kind: 'show_databases', isFull: false }
  }
  if (read.takeWords('create', 'project') || read.takeWords('create', 'database')) {
    return createProject(read)
  }
  if (read.takeWords('drop', 'project') || read.takeWords('drop', 'database')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_project', ifExists, name: read.name('the name of a project') }
  }
  if (read.takeWords('use')) return { kind: 'use', database: read.name('a project') }
  refuseLaterStatements(read)
  return undefined
}

function createKnowledgeBase(read: StatementReader): Statement {
  const ifNotExists = read.takeWords('if', 'not', 'exists')
  const name = qualifiedName(read)
  const options = read.takeWords('using') ? read.options() : {}
  return { kind: 'create_knowledge_base', name, ifNotExists, options }
}

function dropKnowledgeBase(read: StatementReader): Statement {
  const ifExists = read.takeWords('if', 'exists')
  return { kind: 'drop_knowledge_base', name: qualifiedName(read), ifExists }
}

function showKnowledgeBases(read: StatementReader): Statement {
  const isFrom = read.takeWords('from') || read.takeWords('in')
  const project = isFrom ? read.name('a project') : null
  const like = read.takeWords('like') ? read.string() : null
  let name: string | null = null
  if (read.takeWords('where')) {
    read.expectWord('name')
    read.expectSymbol('=')
    name = read.string()
  }
  return { kind: 'show_knowledge_bases', project, like, name }
}

function showTables(read: StatementReader, isFull: boolean): Statement {
  const isFrom = read.takeWords('from') || read.takeWords('in')
  const from = isFrom ? read.name('a project') : null
  return { kind: 'show_tables', from, like: read.takeWords('like') ? read.string() : null, isFull }
}

/** Existing clients make a project as `CREATE DATABASE p ENGINE = 'mindsdb'`. */
function createProject(read: StatementReader): Statement {
  const ifNotExists = read.takeWords('if', 'not', 'exists')
  const name = read.name('the name of a project')
  read.takeWords('with')
  if (read.takeWords('engine')) {
    read.takeSymbol('=')
    const engine = read.string()
    if (engine.toLowerCase() !== PROJECT_ENGINE) {
      const message = `Databases of the engine "${engine}" are not supported; there are projects`
      throw new AppError('sql_not_supported', message)
    }
  }
  return { kind: 'create_project', name, ifNotExists }
}

const PROJECT_ENGINE = 'mindsdb'

function qualifiedName(read: StatementReader): QualifiedName {
  const first = read.name('the name of a knowledge base')
  if (!read.takeSymbol('.')) return { project: null, name: first }
  const name = read.name('the name of a knowledge base')
  if (read.takeSymbol('.')) {
    throw read.expected('a name of one or two parts', 'a third part')
  }
  return { project: first, name }
}

const WRITING_WORDS = new Set(
  'insert update delete create alter drop truncate copy attach detach set evaluate'.split(' '),
)

/** What DuckDB would read as something else, or only refuse with its own words. */
function refuseLaterStatements(read: StatementReader): void {
  const first = read.peekWord()
  if (first === undefined || !WRITING_WORDS.has(first)) return
  const known =
    'SELECT, CREATE / DROP / DESCRIBE / SHOW KNOWLEDGE_BASE, CREATE / DROP PROJECT, SHOW TABLES, SHOW DATABASES and USE'
  const message = `${first.toUpperCase()} of this kind is not supported; there are ${known}`
  throw new AppError('sql_not_supported', message)
}
