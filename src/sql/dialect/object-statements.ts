/**
 * CREATE, ALTER, DROP, DESCRIBE and EVALUATE of knowledge bases, agents, jobs, views and vector
 * indexes.
 */
import type { ScheduleDefinition } from '../../core/domain/ports/job-ports.ts'
import { type Narrowing, narrowing } from './parse-show.ts'
import { type SourceSelect, takeSourceSelect } from './source-select.ts'
import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

/** A statement of each of these kinds, with these fields besides the object's name. */
type Named<Kind extends string, Fields = object> = Kind extends string
  ? { readonly kind: Kind; readonly name: QualifiedName } & Fields
  : never

interface Creating {
  readonly ifNotExists: boolean
}

interface Dropping {
  readonly ifExists: boolean
}

interface Configuring {
  readonly options: Options
}

export type ObjectStatement =
  | Named<'create_agent' | 'create_knowledge_base', Creating & Configuring>
  /** `ALTER AGENT a USING …` and `UPDATE AGENT a SET …`. */
  | Named<'alter_agent' | 'alter_knowledge_base', Configuring>
  /** The option `questions` or `test_table` may be the text of a SELECT. */
  | Named<'evaluate_agent' | 'evaluate_knowledge_base', Configuring>
  | Named<'drop_agent' | 'drop_knowledge_base' | 'drop_job' | 'drop_view' | 'drop_table', Dropping>
  | Named<'describe_agent' | 'describe_knowledge_base'>
  | Named<'create_job', Creating & Omit<ScheduleDefinition, 'project' | 'name'>>
  | Named<'create_view', Creating & { readonly orReplace: boolean; readonly source: SourceSelect }>
  | Named<'alter_view', { readonly source: SourceSelect }>
  | SourceStatement
  | IndexStatement

type SourceStatement = Named<'sources'> &
  (
    | (Creating & Configuring & { readonly change: 'add' | 'alter'; readonly source: string })
    | (Dropping & { readonly change: 'drop'; readonly source: string })
    /** @param source null: all sources */
    | { readonly change: 'refresh'; readonly source: string | null }
  )

type IndexStatement =
  | (Configuring & { readonly kind: 'create_index'; readonly knowledgeBase: QualifiedName })
  | (Dropping & { readonly kind: 'drop_index'; readonly knowledgeBase: QualifiedName })
  | {
      readonly kind: 'show_indexes'
      /** Null: the indexes of all knowledge bases. */
      readonly knowledgeBase: QualifiedName | null
      readonly narrowing: Narrowing
    }

const SHOWN = {
  knowledge_base: 'a knowledge base',
  agent: 'an agent',
  job: 'a job',
  view: 'a view',
  table: 'a table',
} as const

const SOURCE = 'the name of a source'

export const OBJECT_READERS: readonly ((read: StatementReader) => ObjectStatement | undefined)[] = [
  (read) => definedObject(read, 'knowledge_base'),
  (read) => definedObject(read, 'agent'),
  droppedObject,
  jobStatement,
  viewStatement,
  indexStatement,
]

/** Parses statements that exist for both knowledge bases and agents. */
function definedObject(
  read: StatementReader,
  what: 'knowledge_base' | 'agent',
): ObjectStatement | undefined {
  const named = () => read.qualifiedName(SHOWN[what])
  if (read.takeWords('create', what)) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    return { kind: `create_${what}`, name: named(), ifNotExists, options: optionsOf(read) }
  }
  if (read.takeWords('alter', what)) {
    const name = named()
    const ofSource = what === 'agent' ? undefined : sourceStatement(name, read)
    return ofSource ?? { kind: `alter_${what}`, name, options: requiredOptions(read) }
  }
  if (what === 'agent' && read.takeWords('update', what)) {
    const name = named()
    read.expectWord('set')
    return { kind: 'alter_agent', name, options: read.options() }
  }
  if (read.takeWords('describe', what)) return { kind: `describe_${what}`, name: named() }
  if (read.takeWords('evaluate', what)) {
    const name = named()
    const options = optionsOf(read, [what === 'agent' ? 'questions' : 'test_table'])
    return { kind: `evaluate_${what}`, name, options }
  }
  if (what === 'agent' || !read.takeWords('refresh', what)) return undefined
  const name = named()
  const source = read.takeWords('source') ? read.name(SOURCE) : null
  return { kind: 'sources', change: 'refresh', name, source }
}

function optionsOf(read: StatementReader, queries: readonly string[] = []): Options {
  return read.takeWords('using') ? read.options(queries) : {}
}

function requiredOptions(read: StatementReader): Options {
  read.expectWord('using')
  return read.options()
}

function droppedObject(read: StatementReader): ObjectStatement | undefined {
  for (const what of ['knowledge_base', 'agent', 'job', 'view', 'table'] as const) {
    // MindsDB clients may drop a view as a model.
    const isModel = what === 'view' && read.takeWords('drop', 'model')
    if (!isModel && !read.takeWords('drop', what)) continue
    const ifExists = read.takeWords('if', 'exists')
    return { kind: `drop_${what}`, name: read.qualifiedName(SHOWN[what]), ifExists }
  }
  return undefined
}

/** Parses `ADD SOURCE name USING …`, `ALTER SOURCE name USING …` or `DROP SOURCE name`. */
function sourceStatement(name: QualifiedName, read: StatementReader): SourceStatement | undefined {
  const isNew = read.takeWords('add', 'source')
  if (isNew || read.takeWords('alter', 'source')) {
    const ifNotExists = isNew && read.takeWords('if', 'not', 'exists')
    const source = read.name(SOURCE)
    const options = requiredOptions(read)
    return { kind: 'sources', change: isNew ? 'add' : 'alter', name, source, ifNotExists, options }
  }
  if (!read.takeWords('drop', 'source')) return undefined
  const ifExists = read.takeWords('if', 'exists')
  return { kind: 'sources', change: 'drop', name, source: read.name(SOURCE), ifExists }
}

function jobStatement(read: StatementReader): ObjectStatement | undefined {
  if (!read.takeWords('create', 'job')) return undefined
  const ifNotExists = read.takeWords('if', 'not', 'exists')
  const name = read.qualifiedName(SHOWN.job)
  read.takeWords('as')
  const query = read.enclosedText()
  const found: { start?: string; end?: string; every?: string; ifQuery?: string } = {}
  for (;;) {
    if (found.start === undefined && read.takeWords('start')) found.start = wordOrText(read, 'time')
    else if (found.end === undefined && read.takeWords('end')) found.end = wordOrText(read, 'time')
    else if (found.every === undefined && read.takeWords('every')) found.every = period(read)
    else if (found.ifQuery === undefined && read.takeWords('if'))
      found.ifQuery = read.enclosedText()
    else break
  }
  const { start = null, end = null, every = null, ifQuery = null } = found
  return { kind: 'create_job', name, ifNotExists, query, start, end, every, ifQuery }
}

/** Parses `now`, or a time in quotes. */
function wordOrText(read: StatementReader, what: string): string {
  return read.peekWord() === undefined ? read.string() : read.name(`a ${what}`)
}

/** Parses `hour` or `2 hours`, with or without quotes, or a cron expression in quotes. */
function period(read: StatementReader): string {
  const count = read.takeNumber()
  return count === undefined ? wordOrText(read, 'period') : `${count} ${read.name('a period')}`
}

function viewStatement(read: StatementReader): ObjectStatement | undefined {
  const orReplace = read.takeWords('create', 'or', 'replace', 'view')
  if (orReplace || read.takeWords('create', 'view')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = read.qualifiedName(SHOWN.view)
    return { kind: 'create_view', name, ifNotExists, orReplace, source: viewSource(read) }
  }
  if (!read.takeWords('alter', 'view')) return undefined
  return { kind: 'alter_view', name: read.qualifiedName(SHOWN.view), source: viewSource(read) }
}

/** Parses `AS SELECT …`, or `FROM project AS (SELECT …)` as MindsDB clients send it. */
function viewSource(read: StatementReader): SourceSelect {
  const database = read.takeWords('from') ? read.name('the name of a project') : null
  read.expectWord('as')
  const source = takeSourceSelect(read)
  return { select: source.select, database: source.database ?? database }
}

function indexStatement(read: StatementReader): IndexStatement | undefined {
  if (read.takeWords('create', 'index')) {
    expectKnowledgeBase(read)
    const knowledgeBase = read.qualifiedName(SHOWN.knowledge_base)
    const hasOptions = read.takeWords('with') || read.takeWords('using')
    const options = hasOptions ? read.enclosedOptions() : {}
    return { kind: 'create_index', knowledgeBase, options }
  }
  if (read.takeWords('drop', 'index')) {
    const ifExists = read.takeWords('if', 'exists')
    expectKnowledgeBase(read)
    return { kind: 'drop_index', knowledgeBase: read.qualifiedName(SHOWN.knowledge_base), ifExists }
  }
  return showIndexes(read)
}

/** An index has no name, because a knowledge base has at most one. */
function expectKnowledgeBase(read: StatementReader): void {
  if (!read.takeWords('on')) throw read.expected('ON KNOWLEDGE_BASE')
  read.expectWord('knowledge_base')
}

/** `SHOW INDEXES FROM t` is another statement, about a table's columns. */
function showIndexes(read: StatementReader): IndexStatement | undefined {
  const isOfTable = read.peekWord(2) === 'from' || read.peekWord(2) === 'in'
  if (isOfTable) return undefined
  if (!read.takeWords('show', 'indexes') && !read.takeWords('show', 'index')) return undefined
  if (!read.takeWords('on')) {
    return { kind: 'show_indexes', knowledgeBase: null, narrowing: narrowing(read) }
  }
  read.takeWords('knowledge_base')
  const knowledgeBase = read.qualifiedName(SHOWN.knowledge_base)
  return { kind: 'show_indexes', knowledgeBase, narrowing: narrowing(read) }
}
