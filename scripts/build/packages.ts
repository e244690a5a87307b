/** What other installers take: a Debian package, and manifests with the checksums of the files. */
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from './bundle.ts'
import { type Platform, run } from './platforms.ts'

const DEPLOY = join(ROOT, 'deploy')
const SCRIPTS = ['postinst', 'prerm', 'postrm']
const MANIFESTS = ['homebrew/eider.rb', 'winget/eider.yaml']

/** @returns the package; undefined outside of Debian, or without dpkg-deb */
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
  run(['dpkg-deb', '--root-owner-group', '-Zzstd', '-z3', '--build', folder, target])
  return target
}

/** @param url where the files of the release are. Those whose files were not built stay as they are. */
export async function manifests(
  sums: ReadonlyMap<string, string>,
  { version, dist, url }: { readonly version: string; readonly dist: string; readonly url: string },
): Promise<void> {
  for (const path of MANIFESTS) {
    const text = await readFile(join(DEPLOY, path), 'utf8')
    const filled = text
      .replaceAll('@VERSION@', version)
      .replaceAll('@URL@', url)
      .replaceAll(/@SHA256:([\w.-]+)@/g, (whole, name: string) => sums.get(name) ?? whole)
    await mkdir(dirname(join(dist, path)), { recursive: true })
    await writeFile(join(dist, path), filled)
  }
}
