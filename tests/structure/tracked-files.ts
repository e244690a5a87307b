/** Checks what no text file of the project may contain, and what its lock file must contain. */
import { join } from 'node:path'

const BYTES_MAX = 2_000_000

export interface TextFile {
  /** The path from the project's root, with `/`. */
  readonly path: string
  readonly text: string
}

/**
 * Files that git tracks or would track. In a copy without git: all files except installed and
 * stored ones.
 */
export async function trackedPaths(root: string): Promise<readonly string[]> {
  const command = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const git = Bun.spawnSync(command, { cwd: root, stderr: 'ignore' })
  if (git.success) return git.stdout.toString().split('\0').filter(Boolean)
  const all = new Bun.Glob('**/*').scan({ cwd: root, dot: true })
  return (await Array.fromAsync(all)).filter((path) => {
    return !/^(node_modules|\.git|data|demo-data|coverage)\//.test(path)
  })
}

/** Read once per process. */
const projects = new Map<string, Promise<readonly TextFile[]>>()

/** Returns every text file of the project that git tracks or would track. */
export function trackedTextFiles(root: string): Promise<readonly TextFile[]> {
  const known = projects.get(root) ?? readTextFiles(root)
  projects.set(root, known)
  return known
}

async function readTextFiles(root: string): Promise<readonly TextFile[]> {
  const files = await Promise.all(
    (await trackedPaths(root)).map(async (path) => {
      const file = Bun.file(join(root, path))
      const text = (await file.exists()) && file.size < BYTES_MAX ? await file.text() : ''
      return { path: path.replaceAll('\\', '/'), text }
    }),
  )
  return files.filter(({ text }) => text !== '' && !text.includes('\0'))
}

/** Matches a folder on a developer's machine: absolute, and not the end of a longer path or URL. */
const MACHINE_PATH = /(?<![\w.\-:/}])\/(work|root|tmp|home\/[a-z]+|Users\/[A-Za-z]+)\/[\w./-]+/

/** Matches the usual form of a package registry's or mirror's address. */
const REGISTRY_HOST =
  /\b(registry|npm|pypi|mirrors?|artifactory|nexus|verdaccio)\.[a-z0-9-]+\.[a-z]{2,}/i

/** @param registryHosts hosts that this machine installs from, as its npm says; they need not look like registries */
export function foreignAddresses(
  files: readonly TextFile[],
  registryHosts: readonly string[],
): readonly string[] {
  return files.flatMap(({ path, text }) => {
    return text.split('\n').flatMap((line, index) => {
      const host = registryHosts.find((one) => line.includes(one)) ?? REGISTRY_HOST.exec(line)?.[0]
      const folder = MACHINE_PATH.exec(line)?.[0]
      return [host, folder]
        .filter((found) => found !== undefined)
        .map((found) => `${path}:${index + 1}: ${found}`)
    })
  })
}

/** Returns files of a data folder, which a server started in the wrong place leaves in the project. */
export function storedData(paths: readonly string[]): readonly string[] {
  return paths.filter((path) =>
    /(^|[\\/])eider[\w.-]*\.(duckdb|wal|mark|key|lock|running)$/.test(path),
  )
}

/** Only old versions can write the data folders that the tests of upgrades open. */
const FOLDERS_OF_RELEASES = 'tests/slow/upgrade/folders/'

/** Packed files that were inspected. Other fixtures are created by their tests. */
export function packedFiles(paths: readonly string[]): readonly string[] {
  const packed = paths.filter((path) => /\.(tgz|tar|gz|zst|zip|7z|deb|whl|rar)$/i.test(path))
  return packed.filter((path) => !path.startsWith(FOLDERS_OF_RELEASES))
}

export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  readonly name?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * npm silently drops optional packages that a registry lacks. `npm ci` then fails on the platforms
 * that need them.
 */
export function missingPlatforms({ packages }: LockFile): readonly string[] {
  return Object.entries(packages).flatMap(([path, locked]) => {
    return Object.keys(locked.optionalDependencies ?? {})
      .filter((name) => packages[`node_modules/${name}`] === undefined)
      .filter((name) => packages[`${path}/node_modules/${name}`] === undefined)
      .map((name) => `${path}: ${name} is not locked`)
  })
}

/** Packages with an address of their own, or with a script that runs at installation. */
export function unwantedPackages(
  { packages }: LockFile,
  mayRunScripts: readonly string[],
): readonly string[] {
  return Object.entries(packages).flatMap(([path, locked]) => {
    // A package that replaces another has its own name.
    const name = locked.name ?? path.replace(/^.*node_modules\//, '')
    return [
      ...(locked.resolved === undefined ? [] : [`${name}: has an address`]),
      ...(locked.hasInstallScript && !mayRunScripts.includes(name)
        ? [`${name}: has an install script`]
        : []),
      ...(name.startsWith('@scarf/') ? [`${name}: reports its installation`] : []),
    ]
  })
}
