import type { BigIntStats, Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'

export interface FolderRules {
  /** Globs over relative paths; if empty, every file. A glob without `/` matches file names. */
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** Whether to include names with a leading dot. */
  readonly hidden: boolean
}

export interface FoundFile {
  /** The path in the folder, with `/` and composed letters (NFC). It is the id of its document. */
  readonly item: string
  readonly path: string
  readonly stamp: string
  readonly sizeBytes: number
  readonly changedMs: number
}

interface UnreadablePath {
  /** An item, or a prefix of items if it ends with `/`. */
  readonly item: string
  readonly message: string
}

/** Folders that never contain documents. */
const OTHER_FOLDERS = new Set(
  'node_modules bower_components __pycache__ lost+found $RECYCLE.BIN'.split(' '),
)
/** Temporary files of programs and systems. */
const OTHER_FILES = /^(?:~\$.*|.*~|.*\.(?:tmp|swp|swx|part|crdownload)|thumbs\.db|desktop\.ini)$/i

const FILES_MAX = 1_000_000
const FOLDER_DEPTH_MAX = 100
const STATS_AT_ONCE = 64
const ITEM_CHARS_MAX = 4_000

/**
 * Lists the files of a folder that the rules include, in path order. Follows links within the root.
 */
export async function listFolder(
  folder: OpenFolder,
  rules: FolderRules,
  signal: AbortSignal,
): Promise<{
  readonly files: readonly FoundFile[]
  /** Folders that could not be read, so it is unknown whether their files still exist. */
  readonly unreadable: readonly UnreadablePath[]
}> {
  const walk = new Walk(folder, rules)
  const queue: Way[] = [{ way: '', depth: 0 }]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    signal.throwIfAborted()
    queue.push(...(await walk.enter(next)))
    await yieldToEventLoop()
  }
  for (let link = walk.links.shift(); link !== undefined; link = walk.links.shift()) {
    signal.throwIfAborted()
    queue.push(...(await walk.follow(link)))
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      queue.push(...(await walk.enter(next)))
    }
  }
  return { files: namedFolder(walk.files), unreadable: walk.unreadable }
}

interface Way {
  readonly way: string
  readonly depth: number
}

type RawFile = Omit<FoundFile, 'item'> & { readonly way: string }

class Walk {
  readonly files: RawFile[] = []
  readonly unreadable: UnreadablePath[] = []
  readonly links: Way[] = []
  readonly #folder: OpenFolder
  readonly #wants: (way: string) => boolean
  readonly #enters: (way: string) => boolean
  /** Real paths of visited folders, so that links to them are not followed again. */
  readonly #entered = new Set<string>()

  constructor(folder: OpenFolder, rules: FolderRules) {
    this.#folder = folder
    const include = rules.include.map(globOf)
    const exclude = rules.exclude.map(globOf)
    const isHidden = (name: string) => !rules.hidden && name.startsWith('.')
    const isExcluded = (way: string) => exclude.some((glob) => glob.match(way))
    this.#enters = (way) => {
      const name = lastPart(way)
      return !isHidden(name) && !OTHER_FOLDERS.has(name) && !isExcluded(way)
    }
    this.#wants = (way) => {
      const name = lastPart(way)
      if (isHidden(name) || OTHER_FILES.test(name) || isExcluded(way)) return false
      return include.length === 0 || include.some((glob) => glob.match(way))
    }
  }

  /** Collects the files of a folder. @returns the folders in it */
  async enter({ way, depth }: Way): Promise<readonly Way[]> {
    const path = pathIn(this.#folder, way)
    let entries: Dirent[]
    try {
      this.#entered.add(way === '' ? this.#folder.path : path)
      entries = await readdir(path, { withFileTypes: true })
    } catch (error) {
      if (way === '') throw unreadableFolder(this.#folder.path, error)
      this.#fail(`${way}/`, error)
      return []
    }
    const folders: Way[] = []
    const wanted: string[] = []
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const child = way === '' ? entry.name : `${way}/${entry.name}`
      if (entry.isDirectory()) {
        if (!this.#enters(child)) continue
        if (depth < FOLDER_DEPTH_MAX) folders.push({ way: child, depth: depth + 1 })
        else this.#refuse(`${child}/`, `is more than ${FOLDER_DEPTH_MAX} folders deep`)
      } else if (entry.isSymbolicLink()) this.links.push({ way: child, depth: depth + 1 })
      else if (this.#wants(child)) wanted.push(child)
    }
    for (let start = 0; start < wanted.length; start += STATS_AT_ONCE) {
      const some = wanted.slice(start, start + STATS_AT_ONCE)
      await Promise.all(some.map((child) => this.#take(child, pathIn(this.#folder, child))))
    }
    return folders
  }

  /**
   * Follows a link to a file, or to a folder not yet visited. Targets outside the root are ignored.
   */
  async follow({ way, depth }: Way): Promise<readonly Way[]> {
    try {
      const path = await realpath(pathIn(this.#folder, way))
      if (!isInFolder(path, this.#folder.root)) return []
      if ((await stat(path)).isDirectory()) {
        const isNew = !this.#entered.has(path) && !isInFolder(path, this.#folder.path)
        if (!isNew || !this.#enters(way) || depth >= FOLDER_DEPTH_MAX) return []
        this.#entered.add(path)
        return [{ way, depth }]
      }
      if (this.#wants(way)) await this.#take(way, path)
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') this.#fail(way, error)
    }
    return []
  }

  async #take(way: string, path: string): Promise<void> {
    try {
      const found = await stat(path, { bigint: true })
      // Reading a pipe or device may never end.
      if (!found.isFile()) return
      if (way.length > ITEM_CHARS_MAX) return this.#refuse(way, 'has a path that is too long')
      if (this.files.length >= FILES_MAX) throw tooMany()
      this.files.push({ way, path, ...fileFacts(found) })
    } catch (error) {
      if (error instanceof AppError) throw error
      // It was removed, or its name is not valid text, so it was never stored.
      if (systemCodeOf(error) === 'ENOENT' && !way.includes('\ufffd')) return
      if (systemCodeOf(error) === 'ENOENT') this.#refuse(way, 'has a name that is not UTF-8')
      else this.#fail(way, error)
    }
  }

  #fail(item: string, error: unknown): void {
    const code = systemCodeOf(error) ?? 'unknown'
    if (code === 'ENOENT') return
    this.#refuse(item, `could not be read: ${REASONS[code] ?? code}`)
  }

  #refuse(item: string, why: string): void {
    this.unreadable.push({ item: item.normalize('NFC'), message: `${item.slice(0, 300)} ${why}` })
  }
}

/** Size, times and inode number, which show whether a file is unchanged. */
export function fileFacts(found: BigIntStats) {
  const { size, mtimeNs, ctimeNs, ino } = found
  const changedNs = mtimeNs > ctimeNs ? mtimeNs : ctimeNs
  return {
    stamp: `${size}:${mtimeNs}:${ctimeNs}:${ino}`,
    sizeBytes: Number(size),
    changedMs: Number(changedNs / 1_000_000n),
  }
}

/** Of names that differ only in composed letters, the decomposed one keeps its spelling. */
function namedFolder(files: readonly RawFile[]): readonly FoundFile[] {
  const composed = new Set(
    files.map(({ way }) => way).filter((way) => way === way.normalize('NFC')),
  )
  return files
    .map(({ way, ...file }) => {
      const item = way.normalize('NFC')
      return { item: item === way || !composed.has(item) ? item : way, ...file }
    })
    .sort((one, other) => (one.item < other.item ? -1 : 1))
}

function globOf(pattern: string): Bun.Glob {
  const plain = pattern.replace(/^\.?\//, '').replace(/\/$/, '')
  return new Bun.Glob(plain.includes('/') ? plain : `**/${plain}`)
}

function lastPart(way: string): string {
  return way.slice(way.lastIndexOf('/') + 1)
}

function tooMany(): AppError {
  const how = 'narrow "include" and "exclude", or make several sources'
  return new AppError('folder_unreadable', `The folder has more than ${FILES_MAX} files; ${how}`)
}

/** A folder that may be read. Both paths are resolved and contain no links. */
export interface OpenFolder {
  readonly path: string
  /** The configured folder that contains it. */
  readonly root: string
  /** Changes if another folder takes its place, or is mounted there. */
  readonly identity: string
}

const SETTING = 'EIDER_FOLDERS_DIR'

/** Must be in a root. @throws AppError `folder_refused`, `folder_unreadable` */
export async function openFolder(path: string, roots: readonly string[]): Promise<OpenFolder> {
  if (roots.length === 0) {
    const how = `set ${SETTING} to the folders that may be read, separated by commas`
    throw new AppError('folder_refused', `No folder may be read: ${how}`)
  }
  if (path.includes('\0'))
    throw new AppError('folder_refused', 'A path cannot contain a null character')
  let missing: unknown = null
  for (const root of roots.map((one) => resolve(one))) {
    const wanted = isAbsolute(path) ? resolve(path) : resolve(root, path)
    if (!isInFolder(wanted, root)) continue
    try {
      return await openedFile(wanted, root)
    } catch (error) {
      if (error instanceof AppError) throw error
      missing ??= error
    }
  }
  if (missing !== null) throw unreadableFolder(path, missing)
  const why = `it is in none of the folders of ${SETTING}`
  throw new AppError('folder_refused', `The folder ${shown(path)} may not be read: ${why}`)
}

async function openedFile(wanted: string, root: string): Promise<OpenFolder> {
  const realRoot = await realpath(root)
  const path = await realpath(wanted)
  if (!isInFolder(path, realRoot)) {
    const why = `a link leads out of the folders of ${SETTING}`
    throw new AppError('folder_refused', `The folder ${shown(wanted)} may not be read: ${why}`)
  }
  const found = await stat(path)
  const identity = `${found.dev}:${found.ino}`
  if (found.isDirectory()) return { path, root: realRoot, identity }
  throw new AppError('folder_unreadable', `${shown(wanted)} is a file; a source needs its folder`)
}

export function isInFolder(path: string, root: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

function unreadableFolder(path: string, error: unknown): AppError {
  const code = systemCodeOf(error) ?? 'unknown'
  const reason = code === 'ENOENT' ? 'it does not exist' : (REASONS[code] ?? code)
  const message = `The folder ${shown(path)} could not be read: ${reason}`
  return new AppError('folder_unreadable', message, { cause: error })
}

export const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  ELOOP: 'its links lead nowhere',
  ENOTDIR: 'a part of its path is not a folder',
  ENAMETOOLONG: 'its path is too long',
  EIO: 'the disk answers with errors',
  ESTALE: 'the network drive no longer has it',
  EMFILE: 'too many files are open',
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 300))
}

function pathIn(folder: OpenFolder, way: string): string {
  return join(folder.path, way)
}
