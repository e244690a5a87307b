/** Creates a Debian package and fills in the manifests of other installers. */
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Zippable, zipSync } from 'fflate'
import { ROOT } from './bundle.ts'
import { type Platform, run } from './platforms.ts'
import type { ReleaseFile } from './release-notes.ts'

const DEPLOY = join(ROOT, 'deploy')
const SCRIPTS = ['postinst', 'prerm', 'postrm']
const MANIFESTS = new Bun.Glob('{homebrew,winget}/*')

/** Compresses the file with its licences, for slow connections and for Homebrew and winget. */
export async function archive(platform: Platform, file: string, dist: string): Promise<void> {
  const licences = join(dist, `eider-${platform.name}.licences.txt`)
  const target = join(dist, `eider-${platform.name}`)
  if (platform.system === 'win32') {
    const level = { level: 9 } as const
    const parts = { 'eider.exe': file, LICENSE: join(ROOT, 'LICENSE'), 'licences.txt': licences }
    const files: Zippable = {}
    for (const [name, path] of Object.entries(parts)) files[name] = [await readFile(path), level]
    return writeFile(`${target}.zip`, zipSync(files))
  }
  const folder = join(dist, 'work', `archive-${platform.name}`)
  await mkdir(folder, { recursive: true })
  await cp(file, join(folder, 'eider'))
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  await cp(licences, join(folder, 'licences.txt'))
  run(['tar', '-cJf', `${target}.tar.xz`, '-C', folder, 'eider', 'LICENSE', 'licences.txt'])
}

/** @returns the package, or undefined for other systems or without dpkg-deb */
export async function debianPackage(
  platform: Platform,
  file: string,
  { version, dist }: { readonly version: string; readonly dist: string },
): Promise<string | undefined> {
  if (platform.system !== 'linux' || Bun.which('dpkg-deb') === null) return undefined
  const arch = platform.arch === 'x64' ? 'amd64' : platform.arch
  const folder = join(dist, 'work', `debian-${arch}`)
  await rm(folder, { recursive: true, force: true })
  const put = async (from: string, to: string, mode: number) => {
    await mkdir(dirname(join(folder, to)), { recursive: true })
    await cp(from, join(folder, to))
    await chmod(join(folder, to), mode)
  }
  await put(file, 'usr/bin/eider', 0o755)
  await put(join(DEPLOY, 'eider.service'), 'lib/systemd/system/eider.service', 0o644)
  await put(join(DEPLOY, 'debian/eider.env'), 'etc/eider/eider.env', 0o600)
  const licences = join(dist, `eider-${platform.name}.licences.txt`)
  await put(join(ROOT, 'LICENSE'), 'usr/share/doc/eider/copyright', 0o644)
  await put(licences, 'usr/share/doc/eider/licences.txt', 0o644)
  for (const name of SCRIPTS) await put(join(DEPLOY, 'debian', name), `DEBIAN/${name}`, 0o755)
  const control = await readFile(join(DEPLOY, 'debian/control'), 'utf8')
  const filled = control.replace('@VERSION@', version).replace('@ARCH@', arch)
  await writeFile(join(folder, 'DEBIAN/control'), filled)
  await writeFile(join(folder, 'DEBIAN/conffiles'), '/etc/eider/eider.env\n')
  run(['chmod', '-R', 'go+rX', folder])
  run(['chmod', '600', join(folder, 'etc/eider/eider.env')])
  const target = join(dist, `eider_${version}_${arch}.deb`)
  // Debian 11 does not support zstd.
  run(['dpkg-deb', '--root-owner-group', '-Zxz', '--build', folder, target])
  return target
}

/** @param url the address of the release's files. Placeholders for missing files remain. */
export async function manifests(
  sums: ReadonlyMap<string, ReleaseFile>,
  { version, dist, url }: { readonly version: string; readonly dist: string; readonly url: string },
): Promise<void> {
  for await (const path of MANIFESTS.scan({ cwd: DEPLOY })) {
    const text = await readFile(join(DEPLOY, path), 'utf8')
    const filled = text
      .replaceAll('@VERSION@', version)
      .replaceAll('@URL@', url)
      .replaceAll(/@SHA256:([\w.-]+)@/g, (whole, name: string) => sums.get(name)?.sha256 ?? whole)
    await mkdir(dirname(join(dist, path)), { recursive: true })
    await writeFile(join(dist, path), filled)
  }
}
