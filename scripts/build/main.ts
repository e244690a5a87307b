/**
 * `npm run build [-- --platforms linux-x64,darwin-arm64 | all] [--out folder] [--url address] [--fast]` builds the
 * program as one file per system, by default this one, with an SBOM, licences, checksums, and packages for other
 * installers. `--url` is the address of all releases; `--fast` compresses less and builds no packages.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { version } from '../../package.json'
import { componentsOf, cycloneDx, licenceText } from './bill-of-materials.ts'
import { ROOT } from './bundle.ts'
import { checksumOf } from './checksum.ts'
import { checkExecutable, withoutSignature } from './executable.ts'
import { npmPackages } from './npm-packages.ts'
import { archive, debianPackage, manifests } from './packages.ts'
import { commonPayload, nativePayload } from './payload.ts'
import { PLATFORMS, type Platform, packageFolder } from './platforms.ts'
import { downloadAddress, type ReleaseFile, writeRelease } from './release-notes.ts'

/** A damaged file of these kinds would crash or give wrong answers. */
const CHECKED = /\.(node|so(\.\d+)*|dylib|dll|onnx)$/

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
const common = await commonPayload(join(WORK, 'common'), values.url)
const built = new Map<Platform, string>()
for (const platform of wanted(values.platforms)) {
  const native = join(WORK, platform.name)
  await nativePayload(platform, native)
  const file = await compiled(platform, await packed([common.folder, native]))
  built.set(platform, file)
  const components = await componentsOf([...common.packages, platform.duckdb, 'bun'])
  await writeFile(join(DIST, `eider-${platform.name}.cdx.json`), cycloneDx(version, components))
  await writeFile(join(DIST, `eider-${platform.name}.licences.txt`), licenceText(components))
  if (!values.fast) {
    await archive(platform, file, DIST)
    await debianPackage(platform, file, { version, dist: DIST })
  }
  console.log(`${file}: ${Math.round(Bun.file(file).size / 1e6)} MB`)
}
const sums = await writeSums()
if (!values.fast) {
  const url = downloadAddress(values.url, version)
  await manifests(sums, { version, dist: DIST, url })
  await npmPackages(built, { version, dist: DIST })
  await writeRelease(DIST, sums, { version, releases: values.url })
}

/**
 * Writes checksums of every file in the folder, including those built earlier for other systems,
 * for `sha256sum --check`.
 */
async function writeSums(): Promise<ReadonlyMap<string, ReleaseFile>> {
  const names = (await Array.fromAsync(new Bun.Glob('eider*').scan({ cwd: DIST }))).sort()
  const found = new Map<string, ReleaseFile>()
  for (const name of names) {
    const bytes = await Bun.file(join(DIST, name)).bytes()
    found.set(name, { sha256: digestOf(bytes), bytes: bytes.length })
  }
  const lines = [...found].map(([name, { sha256 }]) => `${sha256}  ${name}\n`)
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

/** Packs files in the format that `launcher.ts` reads. */
async function packed(folders: readonly string[]): Promise<Packed> {
  const index: unknown[] = []
  const parts: Uint8Array[] = []
  for (const folder of folders) {
    const paths = await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: folder, dot: true }))
    for (const path of paths.sort()) {
      const bytes = await Bun.file(join(folder, path)).bytes()
      parts.push(bytes)
      const name = path.replaceAll('\\', '/')
      const checksums = CHECKED.test(name) ? [checksumOf(join(folder, path))] : []
      index.push([name, bytes.length, ...checksums])
    }
  }
  const head = Buffer.from(JSON.stringify(index))
  const size = Buffer.alloc(4)
  size.writeUInt32LE(head.length)
  const level = values.fast ? 3 : 22
  const bytes = Bun.zstdCompressSync(Buffer.concat([size, head, ...parts]), { level })
  return { bytes, digest: digestOf(bytes) }
}

async function compiled(platform: Platform, { bytes, digest }: Packed): Promise<string> {
  const folder = join(WORK, `launcher-${platform.name}`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'payload.zst'), bytes)
  for (const name of ['launcher.ts', 'checksum.ts']) {
    await Bun.write(join(folder, name), Bun.file(join(import.meta.dir, name)))
  }
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
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  if (!success) throw new Error(logs.join('\n'))
  const file = Buffer.from(await Bun.file(outfile).bytes())
  checkExecutable(platform, file, bytes)
  if (platform.name === 'darwin-x64') await writeFile(outfile, withoutSignature(file))
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
