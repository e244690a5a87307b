import { randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { StartError, systemCodeOf } from '../../errors.ts'

export const KEY_BYTES = 32

/**
 * The key in this file, made at its first use: 32 random bytes as hexadecimal digits, readable by
 * the owner only. It appears whole or not at all, and is never replaced.
 * @throws StartError when the file holds no key or cannot be read or written
 */
export function keyInFile(path: string): Buffer {
  try {
    return readKey(path) ?? newKey(path)
  } catch (error) {
    if (error instanceof StartError) throw error
    const reason = systemCodeOf(error) ?? 'it cannot be read'
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
    // Unlike a rename, a link does not replace a key that another process made in the meantime.
    linkSync(draft, path)
    return key
  } catch (error) {
    const other = systemCodeOf(error) === 'EEXIST' ? readKey(path) : undefined
    if (other === undefined) throw error
    return other
  } finally {
    rmSync(draft, { force: true })
  }
}
