/** Reads a server's address and login from the parameters of a data source. */
import { Socket } from 'node:net'
import type { DataSource } from '../core/domain/flow/source-parameters.ts'
import {
  listedParameter,
  type SourceParameters,
  type SourceParameterValue,
  sourceParameters,
} from '../core/domain/flow/source-parameters.ts'
import { AppError } from '../core/errors.ts'
import { checkedAddress, type Guard } from '../core/runtime/address-policy.ts'
import type { SourcePlace } from './source-engine.ts'

interface ServerAddress {
  readonly host: string
  readonly port: number
}

export interface Endpoint extends ServerAddress {
  /** Tried in this order. The first server of the wanted kind is used. */
  readonly servers: readonly ServerAddress[]
  /** PostgreSQL's `target_session_attrs`. */
  readonly wanted: string
  readonly user: string
  readonly password: string
  readonly database: string | null
  readonly schemas: readonly string[]
  readonly encryption: Encryption
  /** For PostgreSQL, the type of a numeric without precision. */
  readonly numericAs: string
  readonly place: SourcePlace
}

interface Encryption {
  /** `prefer` uses TLS if the server offers it. */
  readonly mode: 'off' | 'prefer' | 'required'
  /** How to check the certificate: not at all, only its authority, or also the host name. */
  readonly check: 'nothing' | 'authority' | 'name'
  readonly authorities: string | undefined
  readonly certificate: string | undefined
  readonly key: string | undefined
}

/** @throws AppError `unknown_field`, `missing_field`, `invalid_request` for invalid parameters */
export function endpointOf(source: DataSource): Endpoint {
  const given = sourceParameters(source.engine, source.parameters)
  const whole = { ...parametersOfUrl(given.url, source.engine), ...given }
  const parameters = sourceParameters(source.engine, whole)
  const text = (name: string) => textParameter(parameters[name])
  const host = text('host')
  if (host === undefined) throw new AppError('missing_field', 'Parameter url names no host')
  const port = text('port') ?? (source.engine === 'postgres' ? '5432' : '3306')
  const [first, ...others] = serversOf(host, port)
  const password = text('password') ?? ''
  return {
    ...first,
    servers: [first, ...others],
    wanted: text('target_session_attrs') ?? 'any',
    user: text('user') ?? (source.engine === 'postgres' ? 'postgres' : 'root'),
    password,
    database: text('database') ?? null,
    schemas: listedParameter(text('schema') ?? '').filter((name) => name !== ''),
    encryption:
      source.engine === 'postgres' ? postgresEncryption(parameters) : mysqlEncryption(parameters),
    numericAs: text('numeric_as') ?? 'double',
    place: {
      source,
      where: [first, ...others].map(shownAddress).join(', '),
      secrets: [password, text('url') ?? '', text('sslkey') ?? '', text('ssl_key') ?? ''],
    },
  }
}

type Servers = readonly [ServerAddress, ...ServerAddress[]]

function serversOf(hosts: string, ports: string): Servers {
  const [port = '', ...others] = listedParameter(ports)
  const server = (host: string, index: number) => {
    return { host, port: Number((index === 0 ? port : others[index - 1]) ?? port) }
  }
  const [first = '', ...rest] = listedParameter(hosts)
  return [server(first, 0), ...rest.map((host, index) => server(host, index + 1))]
}

/** For example `db.example:5432`. */
export function shownAddress({ host, port }: ServerAddress): string {
  const shownHost = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return `${shownHost}:${port}`
}

function textParameter(value: SourceParameterValue | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}

/** @throws AppError that does not show the address, because it contains the password */
function parametersOfUrl(
  given: SourceParameterValue | undefined,
  engine: DataSource['engine'],
): SourceParameters {
  if (given === undefined) return {}
  const refuse = (why: string) => new AppError('invalid_request', `Parameter url: ${why}`)
  // The other checks have made sure that it is valid.
  const url = new URL(String(given))
  const decoded = (part: string) => {
    try {
      return decodeURIComponent(part)
    } catch {
      throw refuse('a % that is not followed by two hexadecimal digits')
    }
  }
  return sourceParameters(engine, {
    ...Object.fromEntries(url.searchParams),
    host: decoded(url.hostname),
    ...(url.port === '' ? {} : { port: url.port }),
    ...(url.username === '' ? {} : { user: decoded(url.username) }),
    ...(url.password === '' ? {} : { password: decoded(url.password) }),
    ...(url.pathname.length > 1 ? { database: decoded(url.pathname.slice(1)) } : {}),
  })
}

function postgresEncryption(parameters: SourceParameters): Encryption {
  const { ssl } = parameters
  const isChecked = ssl === true || parameters.sslrootcert !== undefined
  const fallback = isChecked ? 'require' : ssl === false ? 'disable' : 'prefer'
  const mode = String(parameters.sslmode ?? fallback)
  const certificates = {
    authorities: textParameter(parameters.sslrootcert),
    certificate: textParameter(parameters.sslcert),
    key: textParameter(parameters.sslkey),
  }
  if (mode === 'disable') return { mode: 'off', check: 'nothing', ...certificates }
  if (mode === 'prefer' || mode === 'allow') {
    return { mode: 'prefer', check: 'nothing', ...certificates }
  }
  if (mode === 'no-verify') return { mode: 'required', check: 'nothing', ...certificates }
  return { mode: 'required', check: mode === 'verify-ca' ? 'authority' : 'name', ...certificates }
}

function mysqlEncryption(parameters: SourceParameters): Encryption {
  const certificates = {
    authorities: textParameter(parameters.ssl_ca),
    certificate: textParameter(parameters.ssl_cert),
    key: textParameter(parameters.ssl_key),
  }
  const { ssl_ca, ssl_cert, ssl_verify } = parameters
  const isOn = parameters.ssl ?? (ssl_ca ?? ssl_cert ?? ssl_verify) !== undefined
  if (isOn === false) return { mode: 'off', check: 'nothing', ...certificates }
  return { mode: 'required', check: ssl_verify === false ? 'nothing' : 'name', ...certificates }
}

export function tlsOptions({ check, authorities, certificate, key }: Encryption) {
  return {
    rejectUnauthorized: check !== 'nothing',
    ...(authorities === undefined ? {} : { ca: authorities }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ...(check === 'name' ? {} : { checkServerIdentity: () => undefined }),
  }
}

/** @throws AppError `address_refused`, `invalid_request` */
export async function addressOf(
  { host }: ServerAddress,
  guard: Guard,
  signal: AbortSignal,
): Promise<string> {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  const url = /[\s/@?#\\%]/.test(name) ? null : URL.parse(`http://${name}/`)
  if (url === null) {
    throw new AppError('invalid_request', 'Parameter host: expected a host name or an address')
  }
  return checkedAddress(url, guard, signal)
}

/** A socket that connects to the checked address, even if the library names another host. */
export function pinnedSocket(address: string): Socket {
  const socket = new Socket()
  const connect = socket.connect.bind(socket)
  const pinned = (port: number) => connect({ port, host: address })
  Object.defineProperty(socket, 'connect', { value: pinned })
  return socket
}
