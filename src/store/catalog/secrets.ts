import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { StartError, systemCodeOf } from '../../core/errors.ts'
import { reasonOf } from '../duckdb/database-error.ts'

/** Key files in the data folder: the first encrypts secrets, the second signs login tokens. */
export const KEY_FILES = ['eider.key', 'eider-signing.key'] as const

const KEY_BYTES = 32
const CIPHER = 'aes-256-gcm'
const FORMAT = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Permission bits for the group and other users. */
const OTHERS_MODE = 0o077

/** AES-256-GCM (NIST SP 800-38D) with a random nonce per text. */
export interface Secrets {
  seal(text: string): string
  /** @throws Error if the text was changed or encrypted with another key */
  open(sealed: string): string
  /** Returns 32 random bytes for signing login tokens, the same after a restart. */
  signingKey(): Uint8Array
}

/** @param directory null keeps keys in memory @param isNew a missing key may be created */
export function openSecrets(directory: string | null, isNew = true): Secrets {
  const keyOf = (name: string) => {
    if (directory === null) return randomBytes(KEY_BYTES)
    const path = join(directory, name)
    if (isNew || name !== KEY_FILES[0] || existsSync(path)) return keyInFile(path)
    const advice = 'put it back from the backup that the data comes from'
    throw new StartError(`The key file ${path} is missing: ${advice}. Nothing was changed`)
  }
  const key = keyOf(KEY_FILES[0])
  const signingKey = keyOf(KEY_FILES[1])
  return {
    seal: (text) => sealed(text, key),
    open: (text) => openedSecret(text, key),
    signingKey: () => new Uint8Array(signingKey),
  }
}

function sealed(text: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return `${FORMAT}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}`
}

function openedSecret(text: string, key: Buffer): string {
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

/** Or creates it atomically, never replacing one; owner only. @throws StartError */
function keyInFile(path: string): Buffer {
  try {
    return readKey(path) ?? newKey(path)
  } catch (error) {
    if (error instanceof StartError) throw error
    const reason = reasonOf(error) ?? 'it cannot be read'
    throw new StartError(`The key file ${path} cannot be used: ${reason}`, error)
  }
}

function readKey(path: string): Buffer | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex')
  throw new StartError(`The key file ${path} is damaged: put it back from a backup`)
}

function newKey(path: string): Buffer {
  const key = randomBytes(KEY_BYTES)
  const draft = `${path}.${randomUUID()}`
  try {
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeFileSync(file, `${key.toString('hex')}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    // Unlike a rename, a link does not overwrite a key that another process has just created.
    linkSync(draft, path)
    return key
  } catch (error) {
    const othersKey = systemCodeOf(error) === 'EEXIST' ? readKey(path) : undefined
    if (othersKey === undefined) throw error
    return othersKey
  } finally {
    rmSync(draft, { force: true })
  }
}

/** For example because they were copied there. */
export function modeWarnings(directory: string): readonly string[] {
  // Windows does not have Unix file modes.
  if (process.platform === 'win32') return []
  const keys = KEY_FILES.map((name) => join(directory, name))
  return [
    ...(isOpenToOthers(directory) ? [warning('data folder', directory, '700')] : []),
    ...keys.filter(isOpenToOthers).map((path) => warning('key file', path, '600')),
  ]
}

function isOpenToOthers(path: string): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & OTHERS_MODE) !== 0
}

function warning(what: string, path: string, mode: string): string {
  return `Other users of this machine can open the ${what} ${path}: chmod ${mode} keeps them out`
}
