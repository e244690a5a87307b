/** Collects the folder that a file unpacks when it is first started. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { bundlePage, bundleProgram, ROOT } from './bundle.ts'
import { forProcessor, withoutSymbols } from './executable.ts'
import { type Platform, packageFolder } from './platforms.ts'

/** The project's own files that the program reads. */
const OWN = [
  'assets/all-MiniLM-L6-v2-int8',
  'assets/sample',
  'docs',
  'src/ui/docs',
  'src/ui/styles',
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'bunfig.toml',
  'bench/README.md',
]

/** The files to keep from packages that are not bundled. */
const PACKAGE_FILES: Readonly<Record<string, readonly string[]>> = {
  '@duckdb/node-bindings': ['duckdb.js'],
  'onnxruntime-node': ['dist/*.js'],
  'onnxruntime-common': ['dist/cjs/*.js'],
  'snowball-stemmers': ['**/*.js'],
  'swagger-ui-dist': ['swagger-ui.css', 'swagger-ui-bundle.js'],
  '@embedpdf/pdfium': ['dist/pdfium.wasm'],
}

const README_CHARS_MAX = 12_000
const LEGAL = '{LICENSE,LICENCE,COPYING,NOTICE,License,license,licence}*'

export interface Payload {
  readonly folder: string
  /** The names of the packages inside. */
  readonly packages: readonly string[]
}

/** Collects the part that all systems share. @param releases the address for upgrades, or empty */
export async function commonPayload(folder: string, releases: string): Promise<Payload> {
  await rm(folder, { recursive: true, force: true })
  const bundled = await bundleProgram(folder)
  await mkdir(join(folder, 'src/ui'), { recursive: true })
  const page = await bundlePage()
  await writeFile(join(folder, 'src/ui/page.bin'), page.files)
  for (const path of OWN) await cp(join(ROOT, path), join(folder, path), { recursive: true })
  await writeFile(join(folder, 'package.json'), await manifest(releases))
  for (const [name, patterns] of Object.entries(PACKAGE_FILES)) {
    await copyFiles(join('node_modules', name), folder, patterns)
  }
  const kept = Object.keys(PACKAGE_FILES).map((name) => `node_modules/${name}`)
  const packages = [...new Set([...bundled, ...page.packages, ...kept])].sort()
  for (const path of packages) await copyFiles(path, folder, ['package.json', LEGAL])
  await copyReadmes(packages, folder)
  return { folder, packages: packages.map((path) => path.slice('node_modules/'.length)) }
}

/** Copies the native packages of one system into a separate folder. */
export async function nativePayload(platform: Platform, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  const duckdb = join(folder, 'node_modules', platform.duckdb)
  await cp(await packageFolder(platform.duckdb), duckdb, { recursive: true })
  for (const name of new Bun.Glob('*.{so,node,dylib}').scanSync({ cwd: duckdb })) {
    const path = join(duckdb, name)
    await writeFile(path, withoutSymbols(forProcessor(platform, await readFile(path))))
  }
  if (platform.onnx === null) return
  const onnx = join(await packageFolder('onnxruntime-node', platform.onnx), platform.onnx)
  const libraries = new Bun.Glob('*{.node,.so.1,libonnxruntime.1.dylib,onnxruntime.dll}')
  for await (const name of libraries.scan({ cwd: onnx })) {
    const target = join(folder, 'node_modules/onnxruntime-node', platform.onnx, name)
    await mkdir(dirname(target), { recursive: true })
    await cp(join(onnx, name), target)
  }
}

/** Returns the fields of package.json that Node and Bun need. */
async function manifest(releases: string): Promise<string> {
  const { name, version, description, license, type } = await Bun.file(
    join(ROOT, 'package.json'),
  ).json()
  const own = { name, version, description, license, type, ...(releases && { releases }) }
  return `${JSON.stringify(own)}\n`
}

async function copyFiles(path: string, folder: string, patterns: readonly string[]) {
  for (const pattern of patterns) {
    for await (const name of new Bun.Glob(pattern).scan({ cwd: join(ROOT, path) })) {
      await mkdir(dirname(join(folder, path, name)), { recursive: true })
      await cp(join(ROOT, path, name), join(folder, path, name))
    }
  }
}

/** Copies sample documents for `--demo`. */
async function copyReadmes(packages: readonly string[], folder: string): Promise<void> {
  for (const path of packages) {
    const names = new Bun.Glob('{README,readme,Readme}.md').scan({ cwd: join(ROOT, path) })
    for await (const name of names) {
      const text = await readFile(join(ROOT, path, name), 'utf8')
      await writeFile(join(folder, path, name), text.slice(0, README_CHARS_MAX))
    }
  }
}
