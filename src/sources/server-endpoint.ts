/** Where a server is and how to log in, out of the parameters of a data source. */
import { Socket } from 'node:net'
import type { DataSource } from '../core/domain/flow/source-parameters.ts'
import {
  type SourceParameters,
  type SourceParameterValue,
  sourceParameters,
} from '../core/domain/flow/source-parameters.ts'
import { AppError } from '../core/errors.ts'
import { checkedAddress, type Guard } from '../core/runtime/address-policy.ts'
import type { SourcePlace } from './source-engine.ts'

export interface Endpoint {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string | null
  readonly schemas: readonly string[]
  readonly encryption: Encryption
  /** For PostgreSQL: the type of a numeric without digits. */
  readonly numericAs: string
  readonly place: SourcePlace
}

export interface Encryption {
  /** prefer: where the server offers it. */
  readonly mode: 'off' | 'prefer' | 'required'
  /** The certificate: not at all, its authority, or its authority and the name of the host. */
  readonly check: 'nothing' | 'authority' | 'name'
  readonly authorities: string | undefined
  readonly certificate: string | undefined
  readonly key: string | undefined
}

/** @throws AppError `unknown_field`, `missing_field`, `invalid_request` for parameters that are not as they should be */
export function endpointOf(source: DataSource): Endpoint {
  const given = sourceParameters(source.engine, source.parameters)
  const whole = { ...parametersOfUrl(given.url, source.engine), ...given }
  const parameters = sourceParameters(source.engine, whole)
  const text = (name: string) => textParameter(parameters[name])
  const host = text('host')
  if (host === undefined) throw new AppError('missing_field', 'Parameter url names no host')
  const port = Number(parameters.port ?? (source.engine === 'postgres' ? 5432 : 3306))
  const password = text('password') ?? ''
  const shownHost = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return {
    host,
    port,
    user: text('user') ?? (source.engine === 'postgres' ? 'postgres' : 'root'),
    password,
    database: text('database') ?? null,
    schemas: (text('schema') ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    encryption:
      source.engine === 'postgres' ? postgresEncryption(parameters) : mysqlEncryption(parameters),
    numericAs: text('numeric_as') ?? 'double',
    place: {
      source,
      where: `${shownHost}:${port}`,
      secrets: [password, text('url') ?? '', text('sslkey') ?? '', text('ssl_key') ?? ''],
    },
  }
}

function textParameter(value: SourceParameterValue | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}

/** @throws AppError that does not show the address: it holds the password */
function parametersOfUrl(
  given: SourceParameterValue | undefined,
  engine: DataSource['engine'],
): SourceParameters {
  if (given === undefined) return {}
  const refuse = (why: string) => new AppError('invalid_request', `Parameter url: ${why}`)
  // That it is one was checked with the other parameters.
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
  const isNamed = (ssl_ca ?? ssl_cert ?? ssl_verify) !== undefined
  if (parameters.ssl === false || (parameters.ssl === undefined && !isNamed)) {
    return { mode: 'off', check: 'nothing', ...certificates }
  }
  return {
    mode: 'required',
    check: parameters.ssl_verify === false ? 'nothing' : 'name',
    ...certificates,
  }
}

/** What `tls.connect` takes. */
export function tlsOptions({ check, authorities, certificate, key }: Encryption) {
  return {
    rejectUnauthorized: check !== 'nothing',
    ...(authorities === undefined ? {} : { ca: authorities }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ...(check === 'name' ? {} : { checkServerIdentity: () => undefined }),
  }
}

/**
 * The address to connect to, checked under the policy.
 * @throws AppError `address_refused`, `invalid_request`
 */
export async function addressOf(
  { host }: Endpoint,
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

/** A socket to the checked address, for every host that the library names. */
export function pinnedSocket(address: string): Socket {
  const socket = new Socket()
  const connect = socket.connect.bind(socket)
  const pinned = (port: number) => connect({ port, host: address })
  Object.defineProperty(socket, 'connect', { value: pinned })
  return socket
}
