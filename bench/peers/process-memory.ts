/** Measures the memory and disk space of a process and its children. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Returns the anonymous and shared memory of a process and its children in MB, with each shared page counted once. Pages
 * of files do not count, because the system frees them if needed. NaN if /proc does not say.
 */
export async function heldMb(pid: number): Promise<number> {
  const children = (await withChildren(pid)).filter((child) => child !== pid)
  const sizes = await Promise.all(children.map(ownMb))
  // A child without a size has ended in the meantime.
  return sizes.reduce((sum, size) => sum + (Number.isNaN(size) ? 0 : size), await ownMb(pid))
}

async function ownMb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => undefined)
  if (text === undefined) return Number.NaN
  const kilobytes = (name: string) => {
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN)
  }
  return (kilobytes('Pss_Anon') + kilobytes('Pss_Shmem')) / 1024
}

async function withChildren(pid: number): Promise<readonly number[]> {
  const ps = Bun.spawnSync(['ps', '-eo', 'pid=,ppid='], { stderr: 'ignore' })
  const pairs = ps.stdout.toString().trim().split('\n')
  const parents = new Map(pairs.map((line) => pairOf(line)))
  const isBelow = (one: number): boolean => {
    const parent = parents.get(one)
    return one === pid || (parent !== undefined && parent > 1 && isBelow(parent))
  }
  return [...parents.keys()].filter(isBelow)
}

function pairOf(line: string): readonly [number, number] {
  const [pid = '', parent = ''] = line.trim().split(/\s+/)
  return [Number(pid), Number(parent)]
}

/** Returns how many MB a folder takes on disk. */
export async function folderMb(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  const sizes = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(folder, name)).catch(() => undefined)
      return found?.isFile() === true ? found.blocks * 512 : 0
    }),
  )
  return sizes.reduce((sum, size) => sum + size, 0) / 1024 ** 2
}
