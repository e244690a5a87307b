/** Finds the local files to ingest, and the ids of their documents. */

import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { errorText } from '../../core/errors.ts'
import { CommandError, usageError } from '../command-error.ts'

export interface LocalFile {
  readonly path: string
  /** The document's id: the path, written with `/`. */
  readonly id: string
  readonly sizeBytes: number
}

export interface FileRules {
  /** Whether to include hidden files and folders, `node_modules`, and formats without text. */
  readonly isAll: boolean
  /** Only files that match one of these patterns are included; if empty, all files. */
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** The folder that ids are relative to; null: the current folder, or that of a file elsewhere. */
  readonly base: string | null
}

/** The files that one argument refers to. */
export interface FileRoot {
  /** The absolute path of a folder, a file, or a pattern's base folder. */
  readonly path: string
  readonly kind: 'folder' | 'file' | 'pattern'
  /** The folder that ids are relative to. */
  readonly base: string
  /** A pattern relative to `path`. */
  readonly pattern: string | null
}

export interface LeftOut {
  /** Folder paths end with a slash. */
  readonly path: string
  readonly reason: string
}

const LEFT_OUT_NAMED_MAX = 1000

const GLOB_SIGNS = /[*?[\]{}]/

/** @throws CommandError `no_such_file`, `usage` */
export async function fileRoots(
  words: readonly string[],
  { base }: Pick<FileRules, 'base'>,
  isVanishedAllowed: boolean,
): Promise<readonly FileRoot[]> {
  const roots: FileRoot[] = []
  for (const word of words) {
    const path = resolve(word)
    const found = await stat(path).catch(() => null)
    if (found !== null) {
      const kind = found.isDirectory() ? 'folder' : 'file'
      roots.push({ path, kind, base: baseOf(path, kind, base), pattern: null })
    } else if (GLOB_SIGNS.test(word)) roots.push(patternRoot(path, base))
    else if (isVanishedAllowed) {
      roots.push({ path, kind: 'file', base: baseOf(path, 'file', base), pattern: null })
    } else {
      throw new CommandError('no_such_file', `${word}: there is no such file or folder`)
    }
  }
  return roots
}

function patternRoot(path: string, base: string | null): FileRoot {
  const parts = path.split(sep)
  const first = parts.findIndex((part) => GLOB_SIGNS.test(part))
  const folder = parts.slice(0, first).join(sep) || sep
  const pattern = parts.slice(first).join('/')
  return { path: folder, kind: 'pattern', base: baseOf(folder, 'folder', base), pattern }
}

/**
 * The current folder if it contains the path, so that `docs` gives `docs/a`; or else the parent.
 */
function baseOf(path: string, kind: 'folder' | 'file', base: string | null): string {
  const isBelow = (folder: string) => path === folder || path.startsWith(withSeparator(folder))
  if (base !== null) {
    const folder = resolve(base)
    if (isBelow(folder)) return folder
    throw usageError(`--base: ${path} is not in ${folder}`)
  }
  if (isBelow(process.cwd())) return process.cwd()
  return kind === 'folder' || isAbsolute(path) ? dirname(path) : process.cwd()
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : `${folder}${sep}`
}

export function documentIdOf(path: string, { base }: Pick<FileRoot, 'base'>): string {
  return relative(base, path).split(sep).join('/').normalize('NFC')
}

/** All files, each once, ordered by name. @throws CommandError if two have the same id */
export async function findFiles(roots: readonly FileRoot[], rules: FileRules, signal: AbortSignal) {
  const found = new FoundInRoots(rules, signal)
  for (const root of roots) await found.addRoot(root)
  return found.result()
}

class FoundInRoots {
  readonly #rules: FileRules
  readonly #signal: AbortSignal
  readonly #byPath = new Map<string, LocalFile>()
  readonly #failed: { path: string; message: string }[] = []
  readonly #leftOut: LeftOut[] = []
  #leftOutCount = 0

  constructor(rules: FileRules, signal: AbortSignal) {
    this.#rules = rules
    this.#signal = signal
  }

  async addRoot(root: FileRoot): Promise<void> {
    if (root.kind === 'file') return this.#addFile(root.path, root, true)
    await this.#addFolder(root.path, root)
  }

  result() {
    const files = [...this.#byPath.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    const twice = files.find((file, index) => files[index + 1]?.id === file.id)
    if (twice !== undefined) {
      const hint = 'give --base, or ingest them one after the other'
      throw usageError(`Two files would get the document id ${twice.id}: ${hint}`)
    }
    return {
      files,
      leftOut: this.#leftOut,
      leftOutCount: this.#leftOutCount,
      failed: this.#failed,
    }
  }

  /** Links to folders are not followed, because they could form a loop. */
  async #addFolder(folder: string, root: FileRoot): Promise<void> {
    this.#signal.throwIfAborted()
    let entries: Dirent[]
    try {
      entries = await readdir(folder, { withFileTypes: true })
    } catch (error) {
      const message = errorText(error)
      this.#failed.push({ path: documentIdOf(folder, root) || '.', message })
      return
    }
    for (const entry of entries) {
      const path = join(folder, entry.name)
      const reason = leftOutByName(entry.name, this.#rules)
      if (reason !== null)
        this.#leaveOut(`${documentIdOf(path, root)}${entry.isDirectory() ? '/' : ''}`, reason)
      else if (entry.isDirectory()) await this.#addFolder(path, root)
      else if (entry.isFile() || entry.isSymbolicLink()) await this.#addFile(path, root, false)
    }
  }

  async #addFile(path: string, root: FileRoot, isNamed: boolean): Promise<void> {
    const found = await stat(path).catch(() => null)
    const id = documentIdOf(path, root)
    if (this.#byPath.has(path) || (!isNamed && !isAskedFor(path, root, this.#rules))) return
    if (found === null) return this.#leaveOut(id, 'a broken link, or deleted meanwhile')
    if (!isNamed) {
      if (found.isDirectory())
        return this.#leaveOut(id, 'a link to a folder; give its path to read it')
      if (!found.isFile()) return this.#leaveOut(id, 'no file')
      if (found.size === 0) return this.#leaveOut(id, 'empty')
      if (!isReadable(path, root, this.#rules)) {
        return this.#leaveOut(id, 'no text in this format; --all includes it')
      }
    }
    this.#byPath.set(path, { path, id, sizeBytes: found.size })
  }

  #leaveOut(path: string, reason: string): void {
    this.#leftOutCount += 1
    if (this.#leftOut.length < LEFT_OUT_NAMED_MAX) this.#leftOut.push({ path, reason })
  }
}

const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '__pycache__'])

/** Decides by name only, also for a folder. */
export function isLeftOut(name: string, rules: Pick<FileRules, 'isAll'>): boolean {
  return leftOutByName(name, rules) !== null
}

function leftOutByName(name: string, { isAll }: Pick<FileRules, 'isAll'>): string | null {
  if (isAll) return null
  if (name.startsWith('.')) return 'hidden; --all includes it'
  return SKIPPED_FOLDERS.has(name) ? 'generated by programs; --all includes it' : null
}

/** Extensions of formats without text that an ingested folder may contain. */
const OTHER_ENDINGS =
  /\.(?:png|jpe?g|gif|bmp|tiff?|webp|avif|heic|ico|icns|psd|svg|mp[34]|m4[av]|mov|avi|mkv|webm|wav|flac|og[gv]|aac|woff2?|ttf|otf|eot|zip|tar|t?gz|bz2|xz|zst|7z|rar|jar|war|whl|deb|rpm|dmg|iso|exe|dll|so|dylib|a|o|obj|class|pyc|wasm|bin|dat|db|sqlite3?|duckdb|wal|onnx|pt|safetensors|gguf|npy|npz|pkl|map|lock|bak|swp|tmp|part)$/i

export function isWanted(path: string, root: FileRoot, rules: FileRules): boolean {
  return isAskedFor(path, root, rules) && isReadable(path, root, rules)
}

/** Whether the path matches the user's patterns. */
function isAskedFor(path: string, root: FileRoot, { include, exclude }: FileRules): boolean {
  const id = documentIdOf(path, root)
  const fits = (pattern: string) => {
    const glob = new Bun.Glob(pattern)
    return glob.match(id) || glob.match(basename(path))
  }
  if (root.pattern !== null) {
    const below = relative(root.path, path).split(sep).join('/')
    if (!new Bun.Glob(root.pattern).match(below)) return false
  }
  return (include.length === 0 || include.some(fits)) && !exclude.some(fits)
}

/** A pattern that names a format includes files of that format. */
function isReadable(path: string, root: FileRoot, { isAll, include }: FileRules): boolean {
  return root.pattern !== null || isAll || include.length > 0 || !OTHER_ENDINGS.test(path)
}

/** Whether the document with this id was read from this folder. */
export function isBelowRoot(id: string, root: FileRoot): boolean {
  const path = resolve(root.base, id)
  if (root.kind === 'file') return path === root.path
  if (!path.startsWith(withSeparator(root.path))) return false
  if (root.pattern === null) return true
  return new Bun.Glob(root.pattern).match(relative(root.path, path).split(sep).join('/'))
}
