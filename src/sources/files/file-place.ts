/** Where the file of a data source lies: below one folder, and nowhere else. */
import { lstat, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { type DataSource, sourceParameters } from '../../core/domain/flow/source-parameters.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'

export interface FilePlace {
  /** Without a symbolic link in it. */
  readonly path: string
  /** As its parameter says it, for messages. */
  readonly shown: string
}

/** What the engines keep beside a file, and read. */
const COMPANIONS = ['-wal', '-shm', '-journal', '.wal']

/**
 * @param folder EIDER_SOURCES_DIR; null: not set
 * @throws AppError `source_failed`
 */
export async function filePlace(source: DataSource, folder: string | null): Promise<FilePlace> {
  const shown = String(sourceParameters(source.engine, source.parameters).db_file)
  const refuse = (why: string) => {
    return new AppError(
      'source_failed',
      `Data source ${source.name} (${source.engine} file ${shown.slice(0, 200)}): ${why}`,
    )
  }
  if (folder === null) {
    throw refuse('no file may be read; set EIDER_SOURCES_DIR to the folder that it lies in')
  }
  if (isAbsolute(shown) || shown.split(/[/\\]/).includes('..')) {
    throw refuse('it must be named from the folder of EIDER_SOURCES_DIR on, without ..')
  }
  // SQLite's client takes blanks off, and would open another file.
  if (shown.trim() !== shown) throw refuse('its name has blanks at an end')
  const root = await realpath(folder).catch(() => {
    throw refuse('the folder of EIDER_SOURCES_DIR is not there or may not be read')
  })
  const path = await realpath(join(root, shown)).catch((error: unknown) => {
    throw refuse(WHY_NOT[systemCodeOf(error) ?? ''] ?? 'it cannot be opened')
  })
  const inside = root.endsWith(sep) ? root : `${root}${sep}`
  if (!path.startsWith(inside)) throw refuse('it leads out of the folder of EIDER_SOURCES_DIR')
  // Opening a pipe would wait for ever.
  if (!(await stat(path)).isFile()) throw refuse('it is not a regular file')
  for (const ending of COMPANIONS) {
    const beside = await lstat(`${path}${ending}`).catch(() => null)
    if (beside !== null && !beside.isFile()) throw refuse(`${ending} beside it is no regular file`)
  }
  return { path, shown }
}

const WHY_NOT: Readonly<Record<string, string | undefined>> = {
  ENOENT: 'there is no such file in the folder of EIDER_SOURCES_DIR',
  ENOTDIR: 'there is no such file in the folder of EIDER_SOURCES_DIR',
  EACCES: 'the server may not read it',
  ELOOP: 'its symbolic links lead in a circle',
}
