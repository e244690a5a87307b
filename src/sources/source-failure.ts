/** Why a data source failed, in words for whoever asked: which one, where, and the cause, without a secret. */
import type { DataSource } from '../core/domain/flow/source-parameters.ts'
import { AppError } from '../core/errors.ts'

const MESSAGE_CHARS_MAX = 1000

export interface SourcePlace {
  readonly source: Pick<DataSource, 'name' | 'engine'>
  /** `db.example:5432`, or a file's name. */
  readonly where: string
  /** What no message may show. */
  readonly secrets: readonly string[]
}

const LOST = 'the server closed the connection'

function untrusted(which: string): string {
  return `TLS: its certificate is ${which}; give the certificates that are trusted, or turn the check off`
}

/** What the operating system and the libraries say, by their codes. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection is refused; does the server run, and on this port',
  ENOTFOUND: 'the host is not known',
  EAI_AGAIN: 'the host is not known at the moment',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the server does not answer',
  ECONNRESET: LOST,
  EPIPE: LOST,
  PROTOCOL_CONNECTION_LOST: LOST,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted('signed by itself'),
  SELF_SIGNED_CERT_IN_CHAIN: untrusted('of an authority that is not trusted'),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted('of an authority that is not known'),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted('of an authority that is not known'),
  CERT_HAS_EXPIRED: 'TLS: its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: its certificate is for another host',
  HANDSHAKE_NO_SSL_SUPPORT: 'TLS: the server does not offer it',
}

/** Any failure at a source as the caller hears it. */
export function sourceFailure(error: unknown, place: SourcePlace): AppError {
  if (error instanceof AppError) return error
  const { source, where } = place
  const cause = withoutSecrets(causeOf(error), place.secrets)
  const message = `Data source ${source.name} (${source.engine} at ${where}): ${cause}`
  // The library's own error may hold the login: it goes into no log.
  return new AppError('source_failed', message)
}

/** True where the connection is at fault, not what was asked over it. */
export function isConnectionFailure(error: unknown): boolean {
  const { code, message } = partsOf(error)
  return (
    /^(ECONN|EPIPE|PROTOCOL_|57P0|08)/.test(code) ||
    /Connection (terminated|ended)|closed/i.test(message)
  )
}

function causeOf(error: unknown): string {
  const { code, message } = partsOf(error)
  const known = CAUSES[code]
  if (known !== undefined) return known
  if (/does not support SSL/.test(message)) return CAUSES.HANDSHAKE_NO_SSL_SUPPORT ?? message
  if (/unable to verify|self.signed certificate/i.test(message)) {
    return untrusted('of an authority that is not known')
  }
  if (/certificate's altnames/.test(message)) return 'TLS: its certificate is for another host'
  if (/Connection terminated|Connection ended/.test(message)) return LOST
  const [, method] = /authentication using (?:unknown plugin )?(\w+)/.exec(message) ?? []
  if (method !== undefined)
    return `the server asks for the login method ${method}, which is not used here`
  return message === '' ? 'it failed without a reason' : message.slice(0, MESSAGE_CHARS_MAX)
}

function partsOf(error: unknown): { readonly code: string; readonly message: string } {
  if (typeof error !== 'object' || error === null) return { code: '', message: String(error) }
  // Any property of any object may be looked at.
  const { code, message } = error as Readonly<Record<string, unknown>>
  return {
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
  }
}

const SECRET_CHARS_MIN = 3

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SECRET_CHARS_MIN)
    .reduce((shown, secret) => shown.replaceAll(secret, '******'), text)
}
