/**
 * `npm run build [-- --platforms linux-x64,darwin-arm64 | all] [--out folder] [--url address] [--fast]`: the program
 * as one file for each system, by default for this one, with an SBOM, the licences, checksums, and what other installers
 * take. `--url` is where the files of the release will be; `--fast` compresses less and makes no packages.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { version } from '../../package.json'
import { componentsOf, cycloneDx, licenceText } from './bill-of-materials.ts'
import { ROOT } from './bundle.ts'
import { npmPackages } from './npm-packages.ts'
import { debianPackage, manifests } from './packages.ts'
import { commonPayload, nativePayload } from './payload.ts'
import { PLATFORMS, type Platform, packageFolder } from './platforms.ts'

const NATIVE = /\.(node|so(\.\d+)*|dylib|dll)$/

const { values } = parseArgs({
  options: {
    platforms: { type: 'string', default: '' },
    out: { type: 'string', default: join(ROOT, 'dist') },
    url: { type: 'string', default: '' },
    fast: { type: 'boolean', default: false },
  },
})

const DIST = resolve(values.out)
const WORK = join(DIST, 'work')
await mkdir(WORK, { recursive: true })
const common = await commonPayload(join(WORK, 'common'))
const built = new Map<Platform, string>()
for (const platform of wanted(values.platforms)) {
  const native = join(WORK, platform.name)
  await nativePayload(platform, native)
  const file = await compiled(platform, await packed([common.folder, native]))
  built.set(platform, file)
  const components = await componentsOf([...common.packages, platform.duckdb, 'bun'])
  await writeFile(join(DIST, `eider-${platform.name}.cdx.json`), cycloneDx(version, components))
  await writeFile(join(DIST, `eider-${platform.name}.licences.txt`), licenceText(components))
  if (!values.fast) await debianPackage(platform, file, { version, dist: DIST })
  console.log(`${file}: ${Math.round(Bun.file(file).size / 1e6)} MB`)
}
const sums = await writeSums()
if (!values.fast) {
  await manifests(sums, { version, dist: DIST, url: values.url })
  await npmPackages(built, { version, dist: DIST })
}

/** Of all files that are there, also from earlier runs for other systems: as `sha256sum --check` reads it. */
async function writeSums(): Promise<ReadonlyMap<string, string>> {
  const names = (await Array.fromAsync(new Bun.Glob('eider*').scan({ cwd: DIST }))).sort()
  const found = new Map<string, string>()
  for (const name of names) found.set(name, digestOf(await Bun.file(join(DIST, name)).bytes()))
  const lines = [...found].map(([name, digest]) => `${digest}  ${name}\n`)
  await writeFile(join(DIST, 'SHA256SUMS'), lines.join(''))
  return found
}

function wanted(names: string): readonly Platform[] {
  if (names === 'all') return PLATFORMS
  const found = names.split(',').filter(Boolean)
  return PLATFORMS.filter(({ name, system, arch }) => {
    if (found.length > 0) return found.includes(name)
    return system === process.platform && arch === process.arch
  })
}

interface Packed {
  readonly bytes: Uint8Array
  readonly digest: string
}

/** As `launcher.ts` reads it. */
async function packed(folders: readonly string[]): Promise<Packed> {
  const index: unknown[] = []
  const parts: Uint8Array[] = []
  for (const folder of folders) {
    const paths = await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: folder, dot: true }))
    for (const path of paths.sort()) {
      const bytes = await Bun.file(join(folder, path)).bytes()
      parts.push(bytes)
      const name = path.replaceAll('\\', '/')
      index.push(NATIVE.test(name) ? [name, bytes.length, digestOf(bytes)] : [name, bytes.length])
    }
  }
  const head = Buffer.from(JSON.stringify(index))
  const size = Buffer.alloc(4)
  size.writeUInt32LE(head.length)
  const level = values.fast ? 3 : 19
  const bytes = Bun.zstdCompressSync(Buffer.concat([size, head, ...parts]), { level })
  return { bytes, digest: digestOf(bytes) }
}

async function compiled(platform: Platform, { bytes, digest }: Packed): Promise<string> {
  const folder = join(WORK, `launcher-${platform.name}`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'payload.zst'), bytes)
  await Bun.write(join(folder, 'launcher.ts'), Bun.file(join(import.meta.dir, 'launcher.ts')))
  const isWindows = platform.system === 'win32'
  const outfile = join(DIST, `eider-${platform.name}${isWindows ? '.exe' : ''}`)
  const { success, logs } = await Bun.build({
    entrypoints: [join(folder, 'launcher.ts')],
    minify: true,
    bytecode: true,
    define: { PAYLOAD_DIGEST: JSON.stringify(digest) },
    compile: {
      target: `bun-${isWindows ? 'windows' : platform.system}-${platform.arch}` as 'bun-linux-x64',
      outfile,
      executablePath: await bunOf(platform),
    },
  })
  if (!success) throw new Error(logs.join('\n'))
  return outfile
}

async function bunOf(platform: Platform): Promise<string> {
  if (platform.system === process.platform && platform.arch === process.arch)
    return process.execPath
  const isWindows = platform.system === 'win32'
  const path = join('bin', isWindows ? 'bun.exe' : 'bun')
  return join(await packageFolder(platform.bun, path), path)
}

function digestOf(bytes: Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
}
