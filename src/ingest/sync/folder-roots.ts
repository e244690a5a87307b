import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { AppError, systemCodeOf } from '../../core/errors.ts'

/** A folder that may be read, both as the system knows them: no link stands in their paths. */
export interface OpenFolder {
  readonly path: string
  /** The configured folder that it lies in. */
  readonly root: string
}

const SETTING = 'EIDER_FOLDERS_DIR'

/**
 * The folder of a source, where it lies within one of the configured ones.
 * @param path absolute, or relative to one of the roots
 * @throws AppError `folder_refused`, `folder_unreadable`
 */
export async function openFolder(path: string, roots: readonly string[]): Promise<OpenFolder> {
  if (roots.length === 0) {
    const how = `set ${SETTING} to the folders that may be read, separated by commas`
    throw new AppError('folder_refused', `No folder may be read: ${how}`)
  }
  if (path.includes('\0')) throw new AppError('folder_refused', 'A path holds no null character')
  let missing: unknown = null
  for (const root of roots.map((one) => resolve(one))) {
    const wanted = isAbsolute(path) ? resolve(path) : resolve(root, path)
    if (!isWithin(wanted, root)) continue
    try {
      return await opened(wanted, root)
    } catch (error) {
      if (error instanceof AppError) throw error
      missing ??= error
    }
  }
  if (missing !== null) throw unreadable(path, missing)
  const why = `it lies in none of the folders of ${SETTING}`
  throw new AppError('folder_refused', `The folder ${shown(path)} may not be read: ${why}`)
}

async function opened(wanted: string, root: string): Promise<OpenFolder> {
  const realRoot = await realpath(root)
  const path = await realpath(wanted)
  if (!isWithin(path, realRoot)) {
    const why = `a link leads out of the folders of ${SETTING}`
    throw new AppError('folder_refused', `The folder ${shown(wanted)} may not be read: ${why}`)
  }
  if ((await stat(path)).isDirectory()) return { path, root: realRoot }
  throw new AppError('folder_unreadable', `${shown(wanted)} is a file; a source needs its folder`)
}

/** The same path, or one below it. */
export function isWithin(path: string, root: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

function unreadable(path: string, error: unknown): AppError {
  const code = systemCodeOf(error) ?? 'unknown'
  const reason = code === 'ENOENT' ? 'it does not exist' : (REASONS[code] ?? code)
  const message = `The folder ${shown(path)} could not be read: ${reason}`
  return new AppError('folder_unreadable', message, { cause: error })
}

export const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  ELOOP: 'its links lead nowhere',
  ENOTDIR: 'a part of its path is no folder',
  ENAMETOOLONG: 'its path is too long',
  EIO: 'the disk answers with errors',
  ESTALE: 'the network drive does not know it any more',
  EMFILE: 'too many files are open',
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 300))
}

/** Of a relative path, the whole one. */
export function pathIn(folder: OpenFolder, way: string): string {
  return join(folder.path, way)
}
