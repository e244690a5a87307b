/** Real documents that every checkout has, namely the READMEs of the installed packages. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

export interface ReadmeFile {
  readonly packageName: string
  readonly version: string
  readonly license: string
  readonly description: string
  /** The number of characters in the whole file, of which `text` may have fewer. */
  readonly sizeChars: number
  readonly text: string
}

export interface ReadmeLimits {
  readonly filesMax: number
  /** Longer files are cut here. */
  readonly charsMax: number
  /** Packages to put before all others in any installation. */
  readonly first?: readonly string[]
}

/** Returns those in `first`, then all others by name. Each text is returned only once. */
export async function readmeFiles(
  modulesFolder: string,
  limits: ReadmeLimits,
): Promise<readonly ReadmeFile[]> {
  const found: ReadmeFile[] = []
  const seen = new Set<string>()
  const folders = [
    ...(limits.first ?? []).map((name) => join(modulesFolder, name)),
    ...(await packageFolders(modulesFolder)),
  ]
  for (const folder of folders) {
    if (found.length === limits.filesMax) break
    const readme = await readmeOf(folder, limits.charsMax)
    if (readme === undefined || seen.has(readme.text)) continue
    seen.add(readme.text)
    found.push(readme)
  }
  return found
}

async function packageFolders(modulesFolder: string): Promise<readonly string[]> {
  const names = (await readdir(modulesFolder)).filter((name) => !name.startsWith('.')).sort()
  const folders = await Promise.all(
    names.map(async (name) => {
      const folder = join(modulesFolder, name)
      if (!name.startsWith('@')) return [folder]
      return (await readdir(folder)).sort().map((inner) => join(folder, inner))
    }),
  )
  return folders.flat()
}

async function readmeOf(folder: string, charsMax: number): Promise<ReadmeFile | undefined> {
  const manifest = Bun.file(join(folder, 'package.json'))
  if (!(await manifest.exists())) return undefined
  const name = (await readdir(folder)).find((file) => /^readme(\.md|\.markdown)?$/i.test(file))
  if (name === undefined) return undefined
  const text = (await Bun.file(join(folder, name)).text()).trim()
  if (text === '') return undefined
  const { name: packageName, version, license, description = '' } = await manifest.json()
  return {
    packageName: String(packageName),
    version: String(version),
    license: typeof license === 'string' ? license : 'not given',
    description: String(description),
    sizeChars: text.length,
    text: text.slice(0, charsMax).toWellFormed(),
  }
}
