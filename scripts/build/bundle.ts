/** Bundles the program into a few files that Bun runs without the source. The single file unpacks them. */
import { readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { BunPlugin } from 'bun'

export const ROOT = join(import.meta.dir, '../..')

/** Entry points: programs and threads are started by the paths of their source files. */
const ENTRIES = [
  'src/main.ts',
  'src/eider.ts',
  'src/store/backup/salvage-reader.ts',
  'scripts/demo.ts',
]
const THREADS = 'src/wiring/threads/*.ts'

/** Native packages, and packages whose files are read by name, are not bundled. */
export const EXTERNAL = ['@duckdb/node-bindings', 'onnxruntime-node', 'snowball-stemmers']

/** @returns the folders of the bundled packages, relative to the project */
export async function bundleProgram(outFolder: string): Promise<readonly string[]> {
  const threads = await Array.fromAsync(new Bun.Glob(THREADS).scan({ cwd: ROOT }))
  const { outputs, metafile } = await Bun.build({
    entrypoints: [...ENTRIES, ...threads].map((path) => join(ROOT, path)),
    root: ROOT,
    outdir: outFolder,
    target: 'bun',
    splitting: true,
    minify: true,
    external: EXTERNAL,
    naming: { entry: '[dir]/[name].ts', chunk: 'src/chunks/[name]-[hash].[ext]' },
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [sourcePaths],
    metafile: true,
  })
  if (outputs.length === 0) throw new Error('The bundler wrote nothing')
  for (const output of outputs) {
    // Bun's compile cache leaves out files with this mark.
    const text = (await output.text()).replace(/^(#!.*\n)?\/\/ @bun\n/, '$1')
    await writeFile(output.path, text)
  }
  return packagesIn(Object.keys(metafile?.inputs ?? {}))
}

/** Modules find files relative to their source, which is elsewhere in the bundle. */
const sourcePaths: BunPlugin = {
  name: 'source-paths',
  setup(build) {
    build.onLoad({ filter: /[\\/](src|scripts)[\\/].*\.ts$/ }, async ({ path, loader }) => {
      const text = await readFile(path, 'utf8')
      const own = relative(ROOT, path).replaceAll('\\', '/')
      const root = `import.meta.url.replace(/\\/(src|scripts)\\/(?!.*\\/(src|scripts)\\/).*$/, '/')`
      const url = `(${root} + ${JSON.stringify(own)})`
      const contents = text
        .replaceAll('import.meta.url', url)
        .replaceAll('import.meta.path', `Bun.fileURLToPath(${url})`)
        .replaceAll('import.meta.dir', `Bun.fileURLToPath(new URL('.', ${url}))`)
      return { contents, loader }
    })
  },
}

export interface BundledPage {
  /** The files, in the format that the server's own bundler writes. */
  readonly files: Uint8Array
  /** The folders of its packages. */
  readonly packages: readonly string[]
}

/** Bundles the page in advance. */
export async function bundlePage(): Promise<BundledPage> {
  const page = join(ROOT, 'src/ui/index.html')
  const program = join(ROOT, 'src/api/http/page/bundle-program.ts')
  const child = Bun.spawn([process.execPath, program, page], {
    cwd: ROOT,
    env: { ...process.env, NODE_ENV: 'production' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const files = await new Response(child.stdout).bytes()
  if ((await child.exited) !== 0) throw new Error('The page could not be bundled')
  const { metafile } = await Bun.build({ entrypoints: [page], target: 'browser', metafile: true })
  return { files, packages: packagesIn(Object.keys(metafile?.inputs ?? {})) }
}

function packagesIn(paths: readonly string[]): readonly string[] {
  const folders = paths.flatMap((path) => {
    const found = /^(?:.*\/)?(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path.replaceAll('\\', '/'))
    const folder = found === null ? undefined : path.slice(0, found[0].length - 1)
    return folder === undefined ? [] : [folder.slice(folder.indexOf('node_modules/'))]
  })
  return [...new Set(folders)].sort()
}
