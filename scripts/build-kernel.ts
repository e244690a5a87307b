/** `bun scripts/build-kernel.ts`: compiles `kernel/vector-scan.ts` to the modules that the program carries. */
import { join } from 'node:path'
import { main as compile } from 'assemblyscript/asc'

const ROOT = join(import.meta.dir, '..')
const SOURCE = 'kernel/vector-scan.ts'
const PARTS = ['nearest-heap', 'nearest-lists', 'query-codes', 'row-codes', 'shared-look']
const SOURCES = [SOURCE, ...PARTS.map((name) => `kernel/${name}.ts`)]
const TARGET = 'src/retrieval/kernel/kernel-module.ts'
const LINE_CHARS = 88

/**
 * @param features of WebAssembly, besides those that it always uses
 * @throws Error with the compiler's words where the source does not compile
 */
async function compiledKernel(features: readonly string[]): Promise<Uint8Array> {
  const texts = new Map<string, string>()
  for (const name of SOURCES) texts.set(name, await Bun.file(join(ROOT, name)).text())
  const written = new Map<string, Uint8Array>()
  const words: string[] = []
  const enabled = features.flatMap((feature) => ['--enable', feature])
  const { error } = await compile([SOURCE, '--outFile', 'kernel.wasm', ...OPTIONS, ...enabled], {
    readFile: (name) => texts.get(name) ?? null,
    writeFile: (name, contents) => {
      written.set(name, typeof contents === 'string' ? Buffer.from(contents) : contents)
    },
    listFiles: () => [],
    stderr: { write: (chunk) => words.push(String(chunk)) },
  })
  const bytes = written.get('kernel.wasm')
  if (error !== null || bytes === undefined) throw new Error(`${error?.message}\n${words.join('')}`)
  return bytes
}

/** One memory, made by the program and shared by all threads; no runtime, as nothing is allocated. */
const OPTIONS: readonly string[] = [
  ...['-O3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--enable', 'threads'],
  ...['--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536'],
]

/** The text of the file that carries the modules. */
export async function kernelFile(): Promise<string> {
  return [
    `/** ${SOURCE}, compiled by scripts/build-kernel.ts: edit that file, not this one. */`,
    ...constant('SIMD_KERNEL_BASE64', await compiledKernel([])),
    '',
    '/** The same for engines with relaxed SIMD. */',
    ...constant('RELAXED_KERNEL_BASE64', await compiledKernel(['relaxed-simd'])),
    '',
  ].join('\n')
}

function constant(name: string, bytes: Uint8Array): readonly string[] {
  const base64 = Buffer.from(bytes).toString('base64')
  const lines = base64.match(new RegExp(`.{1,${LINE_CHARS}}`, 'g')) ?? []
  return [`export const ${name} = [`, ...lines.map((line) => `  '${line}',`), "].join('')"]
}

if (import.meta.main) await Bun.write(join(ROOT, TARGET), await kernelFile())
