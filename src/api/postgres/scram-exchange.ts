/**
 * SCRAM-SHA-256 (RFC 5802, RFC 7677): a client proves that it knows the password without sending
 * it.
 */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { ProtocolError } from './messages.ts'

export const SCRAM_MECHANISM = 'SCRAM-SHA-256'

/** PostgreSQL's number. Passwords are never stored so, and cannot be stolen for guessing. */
const ITERATIONS = 4096
const KEY_BYTES = 32
const NONCE_BYTES = 18
const SALT_BYTES = 16

const derive = promisify(pbkdf2)
/** Derives each name's salt, so that existing and unknown names look alike. */
const SALT_KEY = randomBytes(KEY_BYTES)

/** Channel binding (only SCRAM-SHA-256-PLUS), then the name (also at startup) and the nonce. */
const CLIENT_FIRST = /^([ny],[^,]*,)(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]+))$/
const CLIENT_FINAL = /^(c=([^,]*),r=([^,]*)(?:,[^,]*)*),p=([A-Za-z0-9+/=]+)$/

export class ScramExchange {
  /** The reply to the client's first message. */
  readonly serverFirst: string
  readonly #header: string
  readonly #clientFirst: string
  readonly #nonce: string
  readonly #salt: Buffer

  /** @throws ProtocolError for an invalid first message */
  constructor(clientFirst: string, username: string) {
    const [, header, bare, clientNonce] = CLIENT_FIRST.exec(clientFirst) ?? []
    if (header === undefined || bare === undefined || clientNonce === undefined) {
      throw new ProtocolError('malformed SCRAM message')
    }
    this.#header = header
    this.#clientFirst = bare
    this.#nonce = clientNonce + randomBytes(NONCE_BYTES).toString('base64')
    this.#salt = hmac(SALT_KEY, username).subarray(0, SALT_BYTES)
    const salt = this.#salt.toString('base64')
    this.serverFirst = `r=${this.#nonce},s=${salt},i=${ITERATIONS}`
  }

  /** @returns the server's proof; undefined if the client's is wrong @throws ProtocolError */
  async prove(clientFinal: string, password: string): Promise<string | undefined> {
    const [, withoutProof, binding = '', nonce, proof = ''] = CLIENT_FINAL.exec(clientFinal) ?? []
    const isNext = nonce === this.#nonce && fromBase64(binding).toString() === this.#header
    if (withoutProof === undefined || !isNext) throw new ProtocolError('malformed SCRAM message')
    // NFKC covers what SASLprep (RFC 4013) changes in passwords typed on a keyboard.
    const prepared = password.normalize('NFKC')
    const salted = await derive(prepared, this.#salt, ITERATIONS, KEY_BYTES, 'sha256')
    const message = `${this.#clientFirst},${this.serverFirst},${withoutProof}`
    const clientKey = hmac(salted, 'Client Key')
    const storedKey = createHash('sha256').update(clientKey).digest()
    const expected = exclusiveOr(clientKey, hmac(storedKey, message))
    const sent = fromBase64(proof)
    if (sent.length !== KEY_BYTES || !timingSafeEqual(sent, expected)) return undefined
    return `v=${hmac(hmac(salted, 'Server Key'), message).toString('base64')}`
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

function exclusiveOr(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(one.map((byte, index) => byte ^ (other[index] ?? 0)))
}
