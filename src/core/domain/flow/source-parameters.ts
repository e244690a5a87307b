import { AppError } from '../../errors.ts'

/** The parameters of `CREATE DATABASE … PARAMETERS` for each engine: names, kinds, and which are secret. */

interface SourceParameter {
  readonly name: string
  /** Other names for it, sent by existing clients. */
  readonly aliases: readonly string[]
  readonly kind: 'text' | 'port' | 'boolean' | 'numeric' | readonly string[]
  /** Answers show `******` for it, and it is stored encrypted. */
  readonly isSecret: boolean
  readonly help: string
}

export type SourceParameterValue = string | number | boolean

export type SourceParameters = Readonly<Record<string, SourceParameterValue>>

type Extra = Partial<Pick<SourceParameter, 'aliases' | 'kind' | 'isSecret'>>

function parameter(name: string, help: string, extra: Extra = {}): SourceParameter {
  return { name, help, aliases: [], kind: 'text', isSecret: false, ...extra }
}

/** The modes of PostgreSQL's clients. `require` checks the certificate and its name, like `verify-full`. */
const SSL_MODES = [
  'disable',
  'allow',
  'prefer',
  'no-verify',
  'require',
  'verify-ca',
  'verify-full',
] as const

const USER = parameter('user', 'Name of the login', { aliases: ['username'] })
const PASSWORD = parameter('password', 'Password of the login', { isSecret: true })
const HOST = parameter('host', 'Host name or address of the server', {
  aliases: ['hostname', 'server'],
})
const URL_PARAMETER = { aliases: ['connection_string', 'uri', 'dsn'], isSecret: true } as const
const CERTIFICATES = 'as PEM text'

export const SOURCE_PARAMETERS: Readonly<Record<DataSourceEngine, readonly SourceParameter[]>> = {
  postgres: [
    parameter('url', 'All in one: postgresql://user:password@host:port/database', URL_PARAMETER),
    HOST,
    parameter('port', 'Port of the server; 5432 unless set', { kind: 'port' }),
    USER,
    PASSWORD,
    parameter('database', 'Name of the database; that of the user unless set', {
      aliases: ['dbname', 'db'],
    }),
    parameter('schema', 'Schemas that are looked in first, separated by commas', {
      aliases: ['search_path'],
    }),
    parameter(
      'numeric_as',
      "How numeric without digits is read: 'decimal(38,10)' or 'text'; as DOUBLE unless set",
      {
        kind: 'numeric',
      },
    ),
    parameter('storage', 'true: knowledge bases may be stored here; otherwise nothing is written', {
      kind: 'boolean',
    }),
    parameter('sslmode', 'How the connection is encrypted; prefer unless set', {
      aliases: ['ssl_mode'],
      kind: SSL_MODES,
    }),
    parameter('ssl', 'true: the same as sslmode require; false: as disable', { kind: 'boolean' }),
    parameter('sslrootcert', `Certificates that are trusted, ${CERTIFICATES}`, {
      aliases: ['ssl_ca'],
    }),
    parameter('sslcert', `The client's certificate, ${CERTIFICATES}`, { aliases: ['ssl_cert'] }),
    parameter('sslkey', `The key of the client's certificate, ${CERTIFICATES}`, {
      aliases: ['ssl_key'],
      isSecret: true,
    }),
  ],
  mysql: [
    parameter('url', 'All in one: mysql://user:password@host:port/database', URL_PARAMETER),
    HOST,
    parameter('port', 'Port of the server; 3306 unless set', { kind: 'port' }),
    USER,
    PASSWORD,
    parameter('database', 'Name of the database', { aliases: ['db', 'dbname', 'schema'] }),
    parameter('ssl', 'true: encrypted, the certificate and its name are checked', {
      kind: 'boolean',
    }),
    parameter('ssl_verify', 'false: encrypted, and the certificate is not checked', {
      kind: 'boolean',
    }),
    parameter('ssl_ca', `Certificates that are trusted, ${CERTIFICATES}`),
    parameter('ssl_cert', `The client's certificate, ${CERTIFICATES}`),
    parameter('ssl_key', `The key of the client's certificate, ${CERTIFICATES}`, {
      isSecret: true,
    }),
  ],
  sqlite: [fileParameter('SQLite')],
  duckdb: [fileParameter('DuckDB')],
}

function fileParameter(program: string): SourceParameter {
  const help = `File of ${program}, below the folder that EIDER_SOURCES_DIR names`
  return parameter('db_file', help, { aliases: ['path', 'database', 'file'] })
}

export function isSourceEngine(engine: string): engine is DataSourceEngine {
  return Object.hasOwn(SOURCE_PARAMETERS, engine)
}

/** The engine's name under another spelling or alias; undefined: unknown. */
export function sourceEngineOf(name: string): DataSourceEngine | undefined {
  const sent = name.toLowerCase()
  const engine = Object.hasOwn(ENGINE_ALIASES, sent) ? (ENGINE_ALIASES[sent] ?? sent) : sent
  return isSourceEngine(engine) ? engine : undefined
}

const ENGINE_ALIASES: Readonly<Record<string, DataSourceEngine | undefined>> = {
  postgresql: 'postgres',
  mariadb: 'mysql',
  sqlite3: 'sqlite',
}

/**
 * The parameters under their own names, with values of their kinds; empty and null ones are left out.
 * @throws AppError `unknown_field` for a name that the engine does not have, `missing_field`, `invalid_request`; none shows
 * a value
 */
export function sourceParameters(
  engine: DataSourceEngine,
  given: Readonly<Record<string, unknown>>,
): SourceParameters {
  const found = new Map<string, SourceParameterValue>()
  for (const [name, value] of Object.entries(given)) {
    const known = engineParameter(engine, name)
    if (known === undefined) throw unknownParameter(engine, name)
    if (value === null || value === '') continue
    if (found.has(known.name)) {
      throw new AppError('invalid_request', `Parameter ${known.name} is given twice`)
    }
    const parsed = parsedValue(known, value)
    checkPlace(engine, known.name, parsed)
    found.set(known.name, parsed)
  }
  requirePlace(engine, found)
  const parameters = Object.fromEntries(found)
  const idle = IDLE[engine]?.find(({ isIdle }) => isIdle(parameters))
  if (idle !== undefined) throw new AppError('invalid_request', idle.message)
  return parameters
}

/** `given` with `******` for secrets. Unknown names count as secret. */
export function maskedParameters(
  engine: DataSourceEngine,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const shown = Object.entries(given).map(([name, value]) => {
    const isSecret = engineParameter(engine, name)?.isSecret ?? true
    return [name, isSecret && value !== null && value !== '' ? MASK : value] as const
  })
  return Object.fromEntries(shown)
}

const UNCHECKED: readonly unknown[] = ['prefer', 'allow', 'no-verify']
const OPTIONAL: readonly unknown[] = ['disable', 'prefer', 'allow']

/** What would be accepted and then have no effect. */
const IDLE: Partial<
  Readonly<
    Record<
      DataSourceEngine,
      readonly { isIdle(given: SourceParameters): boolean; readonly message: string }[]
    >
  >
> = {
  postgres: [
    {
      isIdle: ({ ssl, sslmode = ssl === true ? 'require' : 'disable' }) =>
        (ssl === true && OPTIONAL.includes(sslmode)) || (ssl === false && sslmode !== 'disable'),
      message: 'Parameters ssl and sslmode say different things; send sslmode alone',
    },
    {
      isIdle: ({ ssl, sslmode, sslrootcert, sslcert }) =>
        (sslrootcert ?? sslcert) !== undefined && (sslmode === 'disable' || ssl === false),
      message: 'Certificates have no effect without encryption; change sslmode, or leave them out',
    },
    {
      isIdle: ({ sslmode, sslrootcert }) =>
        sslrootcert !== undefined && UNCHECKED.includes(sslmode),
      message:
        'Parameter sslrootcert has no effect where sslmode checks no certificate; set sslmode to verify-full or verify-ca',
    },
    {
      isIdle: ({ sslcert, sslkey }) => (sslcert === undefined) !== (sslkey === undefined),
      message: 'Parameters sslcert and sslkey belong together; send both',
    },
  ],
  mysql: [
    {
      isIdle: ({ ssl, ssl_verify, ssl_ca, ssl_cert }) =>
        ssl === false && (ssl_verify === true || (ssl_ca ?? ssl_cert) !== undefined),
      message: 'Certificates have no effect without encryption; set ssl to true, or leave them out',
    },
    {
      isIdle: ({ ssl_verify, ssl_ca }) => ssl_verify === false && ssl_ca !== undefined,
      message: 'Parameter ssl_ca has no effect where ssl_verify is false; leave one of them out',
    },
    {
      isIdle: ({ ssl_cert, ssl_key }) => (ssl_cert === undefined) !== (ssl_key === undefined),
      message: 'Parameters ssl_cert and ssl_key belong together; send both',
    },
  ],
}

/** The display form of a secret. */
export const MASK = '******'

function engineParameter(engine: DataSourceEngine, name: string): SourceParameter | undefined {
  const asked = name.toLowerCase()
  return SOURCE_PARAMETERS[engine].find((one) => one.name === asked || one.aliases.includes(asked))
}

function unknownParameter(engine: DataSourceEngine, name: string): AppError {
  const names = SOURCE_PARAMETERS[engine].map((one) => one.name).join(', ')
  const message = `Engine ${engine} has no parameter "${name.slice(0, 80)}"; it has: ${names}`
  return new AppError('unknown_field', message)
}

function parsedValue({ name, kind }: SourceParameter, value: unknown): SourceParameterValue {
  const refuse = (expected: string) => {
    return new AppError('invalid_request', `Parameter ${name}: expected ${expected}`)
  }
  if (kind === 'port') {
    const port = Number(value)
    if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port
    throw refuse('a port from 1 to 65535')
  }
  if (kind === 'boolean') {
    const truth = BOOLEANS[String(value).toLowerCase()]
    if (truth !== undefined) return truth
    throw refuse('true or false')
  }
  // A password of digits or a database's name may arrive as a number.
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') throw refuse('a text')
  if (text.includes('\0')) throw refuse('a text without the character NUL')
  if (text.length > PARAMETER_CHARS_MAX) {
    throw refuse(`a text of at most ${PARAMETER_CHARS_MAX} characters`)
  }
  const choice = text.toLowerCase()
  if (kind === 'numeric') {
    const wanted = choice.replaceAll(' ', '')
    if (isNumericType(wanted)) return wanted
    throw refuse("'text' or 'decimal(p,s)', p from 1 to 38, s from 0 to p")
  }
  if (typeof kind === 'string') return text
  if (kind.includes(choice)) return choice
  throw refuse(`one of ${kind.join(', ')}`)
}

const DECIMAL_DIGITS_MAX = 38

function isNumericType(text: string): boolean {
  if (text === 'text') return true
  const [, digits, scale] = /^decimal\((\d{1,2}),(\d{1,2})\)$/.exec(text) ?? []
  const isInRange = Number(digits) >= 1 && Number(digits) <= DECIMAL_DIGITS_MAX
  return isInRange && Number(scale) <= Number(digits)
}

/** A chain of certificates is the longest. */
const PARAMETER_CHARS_MAX = 100_000
const HOST_CHARS_MAX = 255

/** Displayed values must not be addresses with a password. */
function checkPlace(engine: DataSourceEngine, name: string, value: SourceParameterValue): void {
  const text = String(value)
  if (name === 'host') {
    const host = text.includes(':') && !text.startsWith('[') ? `[${text}]` : text
    const isHost = text.length <= HOST_CHARS_MAX && !/[\s/@?#\\%]/.test(text)
    if (isHost && URL.canParse(`http://${host}/`)) return
    const how = 'a port and a login have parameters of their own'
    throw new AppError(
      'invalid_request',
      `Parameter host: expected a host name or an address; ${how}`,
    )
  }
  const protocols = PROTOCOLS[engine]
  if (name !== 'url' || protocols === undefined) return
  const url = URL.parse(text)
  if (url !== null && protocols.includes(url.protocol)) return
  const wanted = `${protocols[0]}//user:password@host:port/database`
  throw new AppError('invalid_request', `Parameter url: expected ${wanted}`)
}

const PROTOCOLS: Partial<Readonly<Record<DataSourceEngine, readonly string[]>>> = {
  postgres: ['postgres:', 'postgresql:'],
  mysql: ['mysql:', 'mariadb:'],
}

const BOOLEANS: Readonly<Record<string, boolean | undefined>> = {
  true: true,
  '1': true,
  false: false,
  '0': false,
}

function requirePlace(
  engine: DataSourceEngine,
  found: ReadonlyMap<string, SourceParameterValue>,
): void {
  const [needed, how] =
    engine === 'sqlite' || engine === 'duckdb' ? ['db_file', ''] : ['host', ', or url']
  if (found.has(needed) || (how !== '' && found.has('url'))) return
  throw new AppError('missing_field', `Engine ${engine} needs the parameter ${needed}${how}`)
}

/** A remote database, or a database file, whose tables SQL reads as `<data source>.<table>`. */
export interface DataSource {
  readonly id: number
  readonly name: string
  readonly engine: DataSourceEngine
  /** As given, with names in lower case. Contains plaintext secrets: answers show `******`. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

export type DataSourceDraft = Pick<DataSource, 'name' | 'engine' | 'parameters'>

export type DataSourceChanges = Partial<Pick<DataSource, 'engine' | 'parameters'>>

/** MariaDB is a `mysql`. */
export type DataSourceEngine = 'postgres' | 'mysql' | 'sqlite' | 'duckdb'

export interface SourceTableName {
  /** null: the source's default schema, or it has no schemas. */
  readonly schema: string | null
  readonly name: string
}

export interface SourceTable extends SourceTableName {
  readonly kind: 'table' | 'view'
}

export interface DescribedSourceTable extends SourceTable {
  readonly columns: readonly SourceColumn[]
}

export interface SourceColumn {
  readonly name: string
  /** DuckDB's name of the type that its values get here. */
  readonly type: string
  /** The source's own name of its type. */
  readonly nativeType: string
  readonly isNullable: boolean
}

/** What people see of statements with secrets. Every pattern is bounded, because texts are long and hostile. */

const SECRET_NAME = String.raw`(?:(?:key|secret|token|passw|pasw|pwd|credential|authorization|cookie)[\w-]{0,40}["'\`]?|\bidentified\s{1,20}by)\s{0,20}`

/** `'password': 'x'`, `api_key = "x"`, also with the sign between them missing, and `password: x`. */
const NAMED = new RegExp(
  String.raw`(${SECRET_NAME}[:=]?\s{0,20})('(?:[^']|'')*'|"(?:[^"\\]|\\.)*")|(${SECRET_NAME}:(?!:)\s{0,20})([^\s,'"(){}[\]]{1,2000})`,
  'gi',
)

/** `scheme://user:password@host`. */
const USER_OF_URL = /(:\/\/)[^\s'"/]{1,300}@/g

const PARAMETER_OF_URL =
  /([?&][\w-]{0,40}(?:key|token|secret|passw|pwd|signature)[\w-]{0,40}=)[^&\s'"]{1,2000}/gi

/** The statement with `******` for every secret and for every address that contains a login. */
export function withoutSecrets(sql: string): string {
  return sql
    .replaceAll(NAMED, (_all, quoted: string | undefined, _text, bare: string | undefined) => {
      return quoted === undefined ? `${bare}******` : `${quoted}'******'`
    })
    .replaceAll(USER_OF_URL, '$1******@')
    .replaceAll(PARAMETER_OF_URL, '$1******')
}

/** As other databases write it. */
const OF_USERS = String.raw`\b(?:create|alter)\s{1,20}(?:users?|role)\b|\bset\s{1,20}password\b`

const HOLDING = new RegExp(
  String.raw`${OF_USERS}|${SECRET_NAME}[:=]?\s{0,20}["']|${SECRET_NAME}:(?!:)|parameters["'\`]?\s{0,20}[=:]?\s{0,20}["'{]`,
  'i',
)

/** Whether no part of the text may be shown, because it may be cut anywhere: errors then give only the position. */
export function mayHoldSecrets(sql: string): boolean {
  return HOLDING.test(sql) || withoutSecrets(sql) !== sql
}
