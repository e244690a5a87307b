/** `bun scripts/build-kernel.ts` compiles `kernel/vector-scan.ts` to the modules that the program contains. */
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '..')
/**
 * Installed by `npm ci --prefix kernel`. It takes 19 MB, and few people change the kernel, so it is
 * not a dependency.
 */
export const COMPILER = join(ROOT, 'kernel/node_modules/assemblyscript/dist/asc.js')

/** The parts of the compiler's interface that are used here. */
interface Compiler {
  main(
    args: readonly string[],
    files: {
      readFile(name: string): string | null
      writeFile(name: string, contents: string | Uint8Array): void
      listFiles(): readonly string[]
      readonly stderr: { write(chunk: unknown): void }
    },
  ): Promise<{ readonly error: Error | null }>
}

const SOURCE = 'kernel/vector-scan.ts'
const PARTS = ['nearest-heap', 'nearest-lists', 'query-codes', 'row-codes', 'shared-look']
const SOURCES = [SOURCE, ...PARTS.map((name) => `kernel/${name}.ts`)]
const TARGET = 'src/retrieval/kernel'

/**
 * @param features WebAssembly features in addition to those that are always used
 * @throws Error with the compiler's message if the source does not compile
 */
async function compiledKernel(features: readonly string[]): Promise<Uint8Array> {
  const texts = new Map<string, string>()
  for (const name of SOURCES) texts.set(name, await Bun.file(join(ROOT, name)).text())
  const written = new Map<string, Uint8Array>()
  const words: string[] = []
  const enabled = features.flatMap((feature) => ['--enable', feature])
  const { main: compile } = (await import(COMPILER)) as Compiler
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

/** One memory that all threads share. No runtime, because nothing is allocated. */
const OPTIONS: readonly string[] = [
  ...['-O3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--enable', 'threads'],
  ...['--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536'],
]

/** The modules as base64, by their files. */
export async function kernelFiles(): Promise<Readonly<Record<string, string>>> {
  const text = async (features: readonly string[]) => {
    return `${Buffer.from(await compiledKernel(features)).toString('base64')}\n`
  }
  // The second is the same kernel for engines with relaxed SIMD.
  return { 'simd.base64': await text([]), 'relaxed-simd.base64': await text(['relaxed-simd']) }
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(await kernelFiles())) {
    await Bun.write(join(ROOT, TARGET, name), text)
  }
}
