import { AppError } from '../../errors.ts'

/** Of `CREATE DATABASE … PARAMETERS`: names, types, and which are secret. */

interface SourceParameter {
  readonly name: string
  /** Alternative names that existing clients send. */
  readonly aliases: readonly string[]
  readonly kind: 'text' | 'port' | 'ports' | 'boolean' | 'numeric' | readonly string[]
  /** Whether the value is stored encrypted and shown as `******`. */
  readonly isSecret: boolean
  readonly help: string
}

export type SourceParameterValue = string | number | boolean

export type SourceParameters = Readonly<Record<string, SourceParameterValue>>

type Extra = Partial<Pick<SourceParameter, 'aliases' | 'kind' | 'isSecret'>>

function parameter(name: string, help: string, extra: Extra = {}): SourceParameter {
  return { name, help, aliases: [], kind: 'text', isSecret: false, ...extra }
}

/** Here `require` also checks the certificate and host name, like `verify-full`. */
const SSL_MODES = [
  'disable',
  'allow',
  'prefer',
  'no-verify',
  'require',
  'verify-ca',
  'verify-full',
] as const

const USER = parameter('user', 'User name', { aliases: ['username'] })
const PASSWORD = parameter('password', 'Password', { isSecret: true })
const HOST_NAMES = { aliases: ['hostname', 'server'] }
const HOST = parameter('host', 'Host name or address of the server', HOST_NAMES)
/** Which of several servers to connect to, as in PostgreSQL clients. */
const SERVER_KINDS = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const
const URL_PARAMETER = { aliases: ['connection_string', 'uri', 'dsn'], isSecret: true } as const
const CERTIFICATES = 'as PEM text'

export const SOURCE_PARAMETERS: Readonly<Record<DataSourceEngine, readonly SourceParameter[]>> = {
  postgres: [
    parameter('url', 'All in one: postgresql://user:password@host:port/database', URL_PARAMETER),
    parameter(
      'host',
      'Host name or address; if several, separated by commas, the first that fits',
      HOST_NAMES,
    ),
    parameter('port', 'One port, or one for each host; default 5432', { kind: 'ports' }),
    parameter('target_session_attrs', 'Which of the hosts fit; default any', {
      kind: SERVER_KINDS,
    }),
    USER,
    PASSWORD,
    parameter('database', 'Database name; default: the user name', { aliases: ['dbname', 'db'] }),
    parameter('schema', 'Schemas to search first, separated by commas', {
      aliases: ['search_path'],
    }),
    parameter(
      'numeric_as',
      "How to read numeric without a precision: 'decimal(38,10)' or 'text'; default DOUBLE",
      { kind: 'numeric' },
    ),
    parameter(
      'storage',
      'true: knowledge bases can be stored here; otherwise, nothing is written',
      { kind: 'boolean' },
    ),
    parameter('sslmode', 'How the connection is encrypted; default prefer', {
      aliases: ['ssl_mode'],
      kind: SSL_MODES,
    }),
    parameter('ssl', 'true: same as sslmode require; false: same as disable', { kind: 'boolean' }),
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
    parameter('port', 'Server port; default 3306', { kind: 'port' }),
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

/** The engine for any spelling or alias; undefined if unknown. */
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

/** Main names, typed values, none empty. @throws AppError, whose message has no value */
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

/** `given` with secrets shown as `******`. Unknown names count as secret. */
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

/** Parameters that would be accepted but have no effect. */
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
      isIdle: ({ host = '', port = 0 }) => {
        const [hosts, ports] = [host, port].map((list) => listedParameter(String(list)).length)
        return ports !== 1 && ports !== hosts
      },
      message: 'Parameter port: expected one port, or as many as there are hosts',
    },
    {
      isIdle: ({ ssl, sslmode = ssl === true ? 'require' : 'disable' }) =>
        (ssl === true && OPTIONAL.includes(sslmode)) || (ssl === false && sslmode !== 'disable'),
      message: 'Parameters ssl and sslmode contradict each other; send only sslmode',
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
        'Parameter sslrootcert has no effect if sslmode does not check the certificate; set sslmode to verify-full or verify-ca',
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
      message: 'Parameter ssl_ca has no effect if ssl_verify is false; leave one of them out',
    },
    {
      isIdle: ({ ssl_cert, ssl_key }) => (ssl_cert === undefined) !== (ssl_key === undefined),
      message: 'Parameters ssl_cert and ssl_key belong together; send both',
    },
  ],
}

/** Shown in place of a secret. */
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
  if (kind === 'port' || kind === 'ports') {
    const ports = kind === 'port' ? [value] : listedParameter(String(value))
    const [port = 0, ...others] = ports.map(Number)
    const isPort = (one: number) => Number.isInteger(one) && one >= 1 && one <= 65_535
    if (![port, ...others].every(isPort)) throw refuse('a port from 1 to 65535')
    return others.length === 0 ? port : [port, ...others].join(',')
  }
  if (kind === 'boolean') {
    const truth = BOOLEANS[String(value).toLowerCase()]
    if (truth !== undefined) return truth
    throw refuse('true or false')
  }
  // A password or database name made only of digits may arrive as a number.
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

/** The items of a comma-separated text. */
export function listedParameter(text: string): readonly string[] {
  return text.split(',').map((part) => part.trim())
}

const DECIMAL_DIGITS_MAX = 38

function isNumericType(text: string): boolean {
  if (text === 'text') return true
  const [, digits, scale] = /^decimal\((\d{1,2}),(\d{1,2})\)$/.exec(text) ?? []
  const isInRange = Number(digits) >= 1 && Number(digits) <= DECIMAL_DIGITS_MAX
  return isInRange && Number(scale) <= Number(digits)
}

/** Large enough for the longest value, a certificate chain. */
const PARAMETER_CHARS_MAX = 100_000
const HOST_CHARS_MAX = 255

/** Refuses an address that contains a password, because these values are displayed. */
function checkPlace(engine: DataSourceEngine, name: string, value: SourceParameterValue): void {
  const text = String(value)
  if (name === 'host') {
    const isHost = (one: string) => {
      const host = one.includes(':') && !one.startsWith('[') ? `[${one}]` : one
      const isName = one.length <= HOST_CHARS_MAX && !/[\s/@?#\\%]/.test(one)
      return isName && URL.canParse(`http://${host}/`)
    }
    if ((engine === 'postgres' ? listedParameter(text) : [text]).every(isHost)) return
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

/** A remote database or a database file, whose tables SQL reads as `<data source>.<table>`. */
export interface DataSource {
  readonly id: number
  readonly name: string
  readonly engine: DataSourceEngine
  /** Names in lower case. Secrets are plain here; answers show `******`. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

export type DataSourceDraft = Pick<DataSource, 'name' | 'engine' | 'parameters'>

export type DataSourceChanges = Partial<Pick<DataSource, 'engine' | 'parameters'>>

/** MariaDB counts as `mysql`. */
export type DataSourceEngine = 'postgres' | 'mysql' | 'sqlite' | 'duckdb'

export interface SourceTableName {
  /** null for the source's default schema, or if it has no schemas. */
  readonly schema: string | null
  readonly name: string
}

/** The table's name as written after the name of its data source. */
export function shownTableName({ schema, name }: SourceTableName): string {
  return schema === null ? name : `${schema}.${name}`
}

export interface SourceTable extends SourceTableName {
  readonly kind: 'table' | 'view'
}

export interface DescribedSourceTable extends SourceTable {
  readonly columns: readonly SourceColumn[]
}

export interface SourceColumn {
  readonly name: string
  /** The DuckDB type of the column's values. */
  readonly type: string
  /** The type's name in the source. */
  readonly nativeType: string
  readonly isNullable: boolean
}
