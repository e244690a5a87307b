import { AppError } from '../../core/errors.ts'
import { nearestName } from '../../core/short-text.ts'
import type { QualifiedName, StatementReader } from './statement-reader.ts'

export type ShowStatement =
  | ShowRows
  | { readonly kind: 'show_create'; readonly what: 'table' | 'view'; readonly name: QualifiedName }
  /** `DESCRIBE name`. DuckDB itself describes a SELECT. */
  | { readonly kind: 'describe'; readonly name: QualifiedName }

export interface ShowRows {
  readonly kind: 'show'
  readonly subject: ShowSubject
  readonly isFull: boolean
  /** The table whose columns or indexes are shown. */
  readonly table: QualifiedName | null
  /** The project, or `files`. */
  readonly from: string | null
  readonly narrowing: Narrowing
}

/** The clauses after SHOW, as written. */
export interface Narrowing {
  readonly like: string | null
  readonly where: string | null
  /** `ORDER BY …` and `LIMIT …`. */
  readonly order: string | null
}

/** The SQL keywords for each subject. */
const SUBJECTS = {
  agents: ['agents'],
  character_sets: ['charset', 'character set'],
  chatbots: ['chatbots'],
  collations: ['collation', 'collations'],
  columns: ['columns', 'fields'],
  databases: ['databases', 'schemas'],
  engines: ['engines', 'storage engines'],
  errors: ['errors'],
  files: ['files'],
  functions: ['function status'],
  handlers: ['handlers'],
  indexes: ['index', 'indexes', 'keys'],
  jobs: ['jobs'],
  knowledge_bases: ['knowledge_bases'],
  ml_engines: ['ml_engines'],
  models: ['models', 'predictors'],
  plugins: ['plugins'],
  privileges: ['privileges'],
  procedures: ['procedure status'],
  processlist: ['processlist'],
  projects: ['projects'],
  queries: ['queries'],
  sources: ['sources'],
  status: ['status'],
  table_status: ['table status'],
  tables: ['tables'],
  triggers: ['triggers'],
  variables: ['variables'],
  views: ['views'],
  warnings: ['warnings'],
} as const

type ShowSubject = keyof typeof SUBJECTS

const WRITTEN = Object.entries(SUBJECTS).flatMap(([subject, forms]) => {
  return forms.map((form) => ({
    // The keys of the constant are the subjects.
    subject: subject as ShowSubject,
    words: form.split(' '),
  }))
})

/** Objects that belong to a database. */
const IN_DATABASES: ReadonlySet<ShowSubject> = new Set<ShowSubject>([
  'agents',
  'chatbots',
  'jobs',
  'knowledge_bases',
  'models',
  'table_status',
  'tables',
  'triggers',
  'views',
])

const WHAT = 'a table'

export function showStatement(read: StatementReader): ShowStatement | undefined {
  if (read.takeWords('show')) return show(read)
  const isDescribe = read.peekWord() === 'describe' || read.peekWord() === 'desc'
  if (!isDescribe || read.isAt('(', 1) || QUERIES.has(read.peekWord(1) ?? '')) return undefined
  read.name('DESCRIBE')
  if (!read.takeWords('table')) read.takeWords('view')
  return { kind: 'describe', name: read.tableName(WHAT) }
}

const QUERIES = new Set('select with from values pivot unpivot summarize describe show'.split(' '))

function show(read: StatementReader): ShowStatement {
  if (read.takeWords('create')) return showCreate(read)
  read.takeWords('extended')
  const isFull = read.takeWords('full')
  const isScoped = ['session', 'global', 'local'].some((scope) => read.takeWords(scope))
  const found = WRITTEN.find(({ words }) => read.takeWords(...words))
  if (found === undefined) throw unknown(read)
  const { subject } = found
  if (isScoped && subject !== 'variables' && subject !== 'status') {
    throw read.expected('VARIABLES or STATUS', subject.toUpperCase())
  }
  const shown = { kind: 'show', subject, isFull } as const
  if (subject === 'sources') {
    const table = takeFrom(read) ? read.qualifiedName('a knowledge base') : null
    return { ...shown, table, from: null, narrowing: narrowing(read) }
  }
  if (subject === 'columns' || subject === 'indexes') {
    if (!takeFrom(read)) throw read.expected('FROM and the name of a table')
    const table = read.tableName(WHAT)
    const from = table.project === null && takeFrom(read) ? read.name('a project') : null
    return { ...shown, table, from, narrowing: narrowing(read) }
  }
  const from = IN_DATABASES.has(subject) && takeFrom(read) ? read.name('a project') : null
  return { ...shown, table: null, from, narrowing: narrowing(read) }
}

function showCreate(read: StatementReader): ShowStatement {
  const isView = read.takeWords('view')
  if (!isView && !read.takeWords('table')) throw read.expected('TABLE or VIEW')
  const name = read.qualifiedName(isView ? 'a view' : WHAT)
  return { kind: 'show_create', what: isView ? 'view' : 'table', name }
}

function takeFrom(read: StatementReader): boolean {
  return read.takeWords('from') || read.takeWords('in')
}

const ORDERING = ['order', 'limit', 'offset']

export function narrowing(read: StatementReader): Narrowing {
  const like = read.takeWords('like') ? read.string() : null
  const where = read.takeWords('where') ? read.textUntil(...ORDERING) : null
  const order = ORDERING.includes(read.peekWord() ?? '') ? read.rest() : null
  return { like, where, order }
}

function unknown(read: StatementReader): AppError {
  const word = read.peekWord()
  if (word === undefined) return read.expected('what to show')
  const all = WRITTEN.map(({ words }) => words.join(' '))
  const known = Object.values(SUBJECTS).map(([form]) => form.toUpperCase())
  const nearest = nearestName(word, all)
  const hint =
    nearest === undefined
      ? `There are ${known.join(', ')}, CREATE TABLE and CREATE VIEW`
      : `Did you mean SHOW ${nearest.toUpperCase()}?`
  const message = `SHOW ${word.toUpperCase().slice(0, 40)} is not supported. ${hint}`
  return new AppError('sql_not_supported', message)
}
