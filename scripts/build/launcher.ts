/**
 * Runs first: unpacks the program into a cache folder, once, and becomes it. A damaged cache is unpacked again, and two
 * simultaneous first starts leave one cache.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import archive from './payload.zst' with { type: 'file' }

/** The digest of the archive, filled in by the build. */
declare const PAYLOAD_DIGEST: string

/** Native libraries and the model have a checksum. */
type Entry = readonly [path: string, bytes: number, checksum?: string]

const INDEX = 'index.json'

/** No `await`: bytecode is compiled from CommonJS. */
start().then((code) => process.exit(code))

async function start(): Promise<number> {
  let folder: string
  try {
    folder = unpacked()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const hint = 'EIDER_CACHE_DIR names another folder for the unpacked program'
    process.stderr.write(`eider: the program could not be unpacked: ${message}. ${hint}\n`)
    return 1
  }
  return become(folder, process.argv.slice(2))
}

function unpacked(): string {
  process.umask(0o077)
  const cache = cacheFolder()
  const folder = join(cache, PAYLOAD_DIGEST.slice(0, 32))
  if (isWhole(folder)) return folder
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  const made = join(cache, `${process.pid}-${crypto.randomUUID()}.part`)
  try {
    unpack(made)
    replaceBy(made, folder)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
  if (!isWhole(folder)) throw new Error(`${folder} is damaged`)
  return folder
}

function cacheFolder(): string {
  const { EIDER_CACHE_DIR, XDG_CACHE_HOME, LOCALAPPDATA, HOME } = process.env
  if (EIDER_CACHE_DIR) return EIDER_CACHE_DIR
  if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, 'eider')
  if (process.platform === 'win32' && LOCALAPPDATA) return join(LOCALAPPDATA, 'eider', 'cache')
  const home = HOME || homedir()
  if (home !== '/' && existsSync(home)) return join(home, '.cache', 'eider')
  return join(tmpdir(), `eider-${process.getuid?.() ?? 'cache'}`)
}

function isWhole(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return false
  const uid = process.getuid?.()
  // Never run what another user could have written.
  if (
    uid !== undefined &&
    (found.uid !== uid || (found.mode & 0o022) !== 0 || !found.isDirectory())
  ) {
    throw new Error(`${folder} belongs to another user, or can be written by others`)
  }
  try {
    const entries: readonly Entry[] = JSON.parse(readFileSync(join(folder, INDEX), 'utf8'))
    return entries.every(([path, bytes, checksum]) => {
      const file = join(folder, path)
      if (statSync(file, { throwIfNoEntry: false })?.size !== bytes) return false
      return checksum === undefined || checksumOf(file) === checksum
    })
  } catch {
    return false
  }
}

/** Finds damage at every start, in a tenth of a digest's time. Against changes, only this user may write here. */
function checksumOf(file: string): string {
  const bytes = process.platform === 'win32' ? readFileSync(file) : Bun.mmap(file)
  return Bun.hash.xxHash3(bytes).toString(16)
}

/** The archive, compressed as a whole: the size of the index in bytes, the index, then all files in its order. */
function unpack(folder: string): void {
  const packed = readFileSync(archive)
  if (digestOf(packed) !== PAYLOAD_DIGEST)
    throw new Error('this file is damaged, download it again')
  const bytes = Bun.zstdDecompressSync(packed)
  const indexEnd = 4 + bytes.readUInt32LE(0)
  const index = bytes.subarray(4, indexEnd)
  let at = indexEnd
  for (const [path, size] of JSON.parse(index.toString()) as readonly Entry[]) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, bytes.subarray(at, at + size))
    at += size
  }
  writeFileSync(join(folder, INDEX), index)
  chmodSync(folder, 0o700)
}

function replaceBy(made: string, folder: string): void {
  try {
    renameSync(made, folder)
  } catch (error) {
    // Another start was faster, or the folder is damaged.
    if (isWhole(folder)) return
    if (!existsSync(folder)) throw error
    renameSync(folder, `${made}.old`)
    rmSync(`${made}.old`, { recursive: true, force: true })
    renameSync(made, folder)
  }
}

function digestOf(bytes: Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
}

async function become(folder: string, args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  const isServer = first === undefined || first === 'serve' || first === '--demo'
  const program = join(folder, isServer ? 'src/main.ts' : 'src/eider.ts')
  const options = first === 'serve' ? rest : args
  // Bun's settings are the program's own: those of the current folder could run code.
  const bun = [process.execPath, '--no-env-file', `--config=${join(folder, 'bunfig.toml')}`]
  const command = [...bun, program, ...options]
  // Only the launcher knows this setting; the server refuses unknown ones.
  const { EIDER_CACHE_DIR: _, ...inherited } = process.env
  const environment = { UV_THREADPOOL_SIZE: '16', ...inherited, BUN_BE_BUN: '1' }
  if (process.platform !== 'win32') process.execve?.(process.execPath, command, environment)
  const child = Bun.spawn(command, { env: environment, stdio: ['inherit', 'inherit', 'inherit'] })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return child.exited
}
