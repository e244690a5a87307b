/** The supported systems and their packages. */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'

export interface Platform {
  /** Part of the file's name. */
  readonly name: string
  /** The names that Node uses. */
  readonly system: string
  readonly arch: string
  /** The package that contains Bun for this platform. */
  readonly bun: string
  readonly duckdb: string
  /**
   * The platform's folder in the package `onnxruntime-node`; null if it does not support the
   * platform.
   */
  readonly onnx: string | null
}

function platform(system: string, arch: string, names: { name: string; bun: string }): Platform {
  return {
    ...{ ...names, system, arch },
    duckdb: `@duckdb/node-bindings-${system}-${arch}`,
    // Since 1.24 it does not support Intel Macs, where embedding needs a provider's model.
    onnx: names.name === 'darwin-x64' ? null : `bin/napi-v6/${system}/${arch}`,
  }
}

export const PLATFORMS: readonly Platform[] = [
  platform('linux', 'x64', { name: 'linux-x64', bun: '@oven/bun-linux-x64' }),
  platform('linux', 'arm64', { name: 'linux-arm64', bun: '@oven/bun-linux-aarch64' }),
  platform('darwin', 'arm64', { name: 'darwin-arm64', bun: '@oven/bun-darwin-aarch64' }),
  platform('darwin', 'x64', { name: 'darwin-x64', bun: '@oven/bun-darwin-x64' }),
  platform('win32', 'x64', { name: 'windows-x64', bun: '@oven/bun-windows-x64' }),
]

/** npm fetches each package once, in the version from the lock file. */
const FETCHED = join(ROOT, 'dist/packages')

/**
 * @param file a file that the package must contain; an installed one lacks the files of other
 * systems
 * @returns the folder of the package, which is fetched if it is not installed
 */
export async function packageFolder(name: string, file = 'package.json'): Promise<string> {
  const installed = join(ROOT, 'node_modules', name)
  if (existsSync(join(installed, file))) return installed
  const folder = join(FETCHED, name)
  if (existsSync(folder)) return folder
  const lock = await Bun.file(join(ROOT, 'package-lock.json')).json()
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {}
  if (version === undefined) throw new Error(`${name} is not in package-lock.json`)
  const unpacking = `${folder}.part`
  await rm(unpacking, { recursive: true, force: true })
  await mkdir(unpacking, { recursive: true })
  run(['npm', 'pack', `${name}@${version}`, '--pack-destination', unpacking, '--silent'])
  const [archive = ''] = await Array.fromAsync(new Bun.Glob('*.tgz').scan({ cwd: unpacking }))
  const bytes = await Bun.file(join(unpacking, archive)).bytes()
  const found = `sha512-${new Bun.CryptoHasher('sha512').update(bytes).digest('base64')}`
  if (found !== integrity) throw new Error(`${name}: the archive is not that of the lock file`)
  run(['tar', '-xzf', join(unpacking, archive), '-C', unpacking, '--strip-components=1'])
  await rm(join(unpacking, archive))
  await rename(unpacking, folder)
  return folder
}

export function run(command: readonly string[], cwd = ROOT): string {
  const { success, stdout, stderr } = Bun.spawnSync([...command], { cwd })
  if (!success) throw new Error(`${command.join(' ')}: ${stderr.toString().slice(-2000)}`)
  return stdout.toString()
}
