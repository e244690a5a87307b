/**
 * Runs first: unpacks the program into a cache folder once, and then starts it. A damaged cache is
 * unpacked again, and two simultaneous first starts leave one cache.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { checksumOf } from './checksum.ts'
import archive from './payload.zst' with { type: 'file' }

/** The digest of the archive, which the build fills in. */
declare const PAYLOAD_DIGEST: string

/**
 * Only native libraries and the model have a checksum, which is checked at every start to detect damage. A digest
 * is not needed, because only this user can write here.
 */
type Entry = readonly [path: string, bytes: number, checksum?: string]

const INDEX = 'index.json'
const PIECE_BYTES = 64 * 1024

/** `await` cannot be used, because bytecode is compiled from CommonJS. */
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
  // Never run files that another user could have written.
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

/**
 * Unpacks the archive, which is compressed as a whole: the size of the index in bytes, the index,
 * and all files in that order.
 */
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
    writeInPieces(file, bytes.subarray(at, at + size))
    at += size
  }
  writeFileSync(join(folder, INDEX), index)
  chmodSync(folder, 0o700)
}

/**
 * After one large write, Linux caches a file in large pieces, and a process that uses one page of a
 * piece maps all of it: 19 MB more of DuckDB's library.
 */
function writeInPieces(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'w')
  try {
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(file, bytes, at, Math.min(PIECE_BYTES, bytes.length - at))
    }
  } finally {
    closeSync(file)
  }
}

function replaceBy(made: string, folder: string): void {
  try {
    renameSync(made, folder)
  } catch (error) {
    // Either another process was faster, or the folder is damaged.
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
  // Bun must read only the program's own settings, because those in the current folder could run
  // code.
  const bun = [process.execPath, '--no-env-file', `--config=${join(folder, 'bunfig.toml')}`]
  const command = [...bun, program, ...options]
  // Remove this setting, which only the launcher reads: the server refuses unknown ones.
  const { EIDER_CACHE_DIR: _, ...inherited } = process.env
  const environment = {
    UV_THREADPOOL_SIZE: '16',
    // Later starts do not compile the program again, which takes a seventh of their processor time.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    ...inherited,
    BUN_BE_BUN: '1',
  }
  if (process.platform !== 'win32') process.execve?.(process.execPath, command, environment)
  const child = Bun.spawn(command, { env: environment, stdio: ['inherit', 'inherit', 'inherit'] })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return child.exited
}
