import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { KEY_BYTES, keyInFile } from './key-file.ts'

const CIPHER = 'aes-256-gcm'
const FORMAT = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Text that only this data folder can read: AES-256-GCM (NIST SP 800-38D), with a random nonce for
 * each text.
 */
export interface Secrets {
  seal(text: string): string
  /** @throws Error when the text was sealed with another key, or changed */
  open(sealed: string): string
  /** 32 random bytes that sign login tokens; the same ones after a restart. */
  signingKey(): Uint8Array
}

/** @param directory where the keys are kept; null: they are forgotten with the process */
export function openSecrets(directory: string | null): Secrets {
  const keyOf = (name: string) =>
    directory === null ? randomBytes(KEY_BYTES) : keyInFile(join(directory, name))
  const key = keyOf('eider.key')
  const signingKey = keyOf('eider-signing.key')
  return {
    seal: (text) => sealed(text, key),
    open: (text) => opened(text, key),
    signingKey: () => new Uint8Array(signingKey),
  }
}

function sealed(text: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return `${FORMAT}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}`
}

function opened(text: string, key: Buffer): string {
  const [format, encoded = ''] = text.split('.')
  const bytes = Buffer.from(encoded, 'base64')
  if (format !== FORMAT || bytes.length < NONCE_BYTES + TAG_BYTES) {
    throw new Error('not a sealed text')
  }
  const bodyStart = NONCE_BYTES + TAG_BYTES
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, bodyStart))
  const body = bytes.subarray(bodyStart)
  return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
}
