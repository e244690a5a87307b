import {
  type Principal,
  requireEverything,
  requireScope,
  type Scope,
} from '../../core/domain/access/principal.ts'
import type { Statement } from '../../sql/dialect/parse-statement.ts'

/** `everything`: an admin of all projects. */
type Scopes = readonly (Scope | 'everything')[]
type Kind = Statement['kind']

/**
 * What each statement of the dialect needs before anything of it is looked at. What it reads beside that, in a SELECT
 * within it, needs its own: names are resolved with the rights of whoever runs it. A kind without a line here would not
 * compile, and needs an admin of everything.
 */
const SCOPES: {
  readonly [K in Kind]: Scopes | ((statement: Extract<Statement, { kind: K }>) => Scopes)
} = {
  describe_agent: ['read'],
  describe_database: ['read'],
  describe_knowledge_base: ['read'],
  show_indexes: ['read'],
  show: ['read'],
  show_create: ['read'],
  describe: ['read'],
  // Their SELECT says whether it reads or asks.
  explain: [],
  set: [],
  use: [],
  transaction: [],
  create_knowledge_base: ['write'],
  // Another model is sent all that is stored.
  alter_knowledge_base: ['write', 'read'],
  drop_knowledge_base: ['write'],
  create_index: ['write'],
  drop_index: ['write'],
  create_agent: ['write'],
  alter_agent: ['write'],
  drop_agent: ['write'],
  create_view: ['write'],
  alter_view: ['write'],
  drop_view: ['write'],
  create_table: ['write'],
  drop_table: ['write'],
  alter_table: ['write'],
  // What it answers says what is in the table.
  truncate: ['write', 'read'],
  insert: ({ ofTable }) => (ofTable === undefined ? ['write'] : ['write', 'read']),
  // How many rows they changed says what their conditions found.
  update: ['write', 'read'],
  delete: ['write', 'read'],
  query_cancel: ['write'],
  query_resume: ['write'],
  vacuum: ({ name }) => (name === null ? ['everything'] : ['write']),
  // A project is what it holds; a database elsewhere is a way out of this machine.
  create_database: ({ engine }) => (engine === null ? ['write'] : ['everything']),
  drop_database: ({ isProject }) => (isProject ? ['write'] : ['everything']),
  alter_database: ['everything'],
  // It runs by itself, with all rights.
  create_job: ['everything'],
  drop_job: ['everything'],
  // Nobody makes or changes more than they have: the definitions check that.
  create_key: ['admin'],
  drop_key: ['admin'],
  show_keys: ['admin'],
  create_user: ['admin'],
  alter_user: ['admin'],
  drop_user: ['admin'],
  show_users: ['admin'],
  // They bring documents by themselves, from folders and addresses.
  sources: ['everything'],
  evaluate_knowledge_base: ({ options }) => {
    return isSet(options.save_to) || isSet(options.generate_data) ? ['read', 'write'] : ['read']
  },
  evaluate_agent: ({ options }) => {
    return isSet(options.save_to) || isSet(options.run) || isSet(options.background)
      ? ['ask', 'write']
      : ['ask']
  },
}

const UNKNOWN: Scopes = ['everything']

/** @throws AppError `forbidden` */
export function requireScopesOf(statement: Statement, principal: Principal): void {
  for (const scope of scopesOf(statement)) {
    if (scope === 'everything') requireEverything(principal)
    else requireScope(principal, scope)
  }
}

export function scopesOf(statement: Statement): Scopes {
  const known: unknown = Object.hasOwn(SCOPES, statement.kind) ? SCOPES[statement.kind] : UNKNOWN
  if (typeof known === 'function') return known(statement)
  return Array.isArray(known) ? known : UNKNOWN
}

/** Of all kinds that there is a line for. */
export const CLASSIFIED_KINDS: readonly string[] = Object.keys(SCOPES)

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false
}
