/**
 * The page's files for the browser. A separate process bundles them with the first request, and
 * they stay in memory. Startup takes no longer, and nothing is written to disk.
 */
import { fileURLToPath } from 'node:url'
import { AppError } from '../../../core/errors.ts'
import { madeOnce, type StaticFile, staticFile } from '../answers/static-file.ts'

/** Bundling takes a tenth of a second; this also allows for a machine that is swapping. */
const BUNDLE_MS_MAX = 30_000
const COMPLAINT_CHARS_MAX = 4000

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json',
}

/** The HTML file served at every address of the page, and the files it loads, by name. */
export interface PageFiles {
  readonly html: StaticFile
  readonly assets: ReadonlyMap<string, StaticFile>
}

/** @returns a function that bundles on its first call, and again if that failed */
export function pageFiles(bundle: () => Promise<PageFiles> = builtAhead): () => Promise<PageFiles> {
  return madeOnce(() => {
    return bundle().catch((error: unknown) => {
      const message = 'The page could not be built. The API works; the log says what is wrong'
      throw new AppError('internal', message, { cause: error })
    })
  })
}

/** A single-file executable contains the bundled page. */
async function builtAhead(): Promise<PageFiles> {
  const built = Bun.file(new URL('../../../ui/page.bin', import.meta.url))
  return (await built.exists()) ? filesIn(await built.bytes()) : bundled()
}

/** @param page the HTML file @throws Error with the bundler's message */
export async function bundled(
  page = fileURLToPath(new URL('../../../ui/index.html', import.meta.url)),
): Promise<PageFiles> {
  const program = fileURLToPath(new URL('bundle-program.ts', import.meta.url))
  const child = Bun.spawn([process.execPath, '--no-env-file', program, page], {
    // So that the project's settings apply, such as those for JSX.
    cwd: fileURLToPath(new URL('../../../..', import.meta.url)),
    // Not the server's own environment, which contains keys and may contain Bun settings.
    env: { NODE_ENV: 'production' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: BUNDLE_MS_MAX,
    killSignal: 'SIGKILL',
  })
  const [output, complaint, code] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code === 0) return filesIn(output)
  const how = child.signalCode ?? code
  throw new Error(`The bundler ended with ${how}: ${complaint.slice(0, COMPLAINT_CHARS_MAX)}`)
}

/** Name, size and compressed size of each file. */
type Head = readonly (readonly [string, number, number])[]

async function filesIn(output: Uint8Array<ArrayBuffer>): Promise<PageFiles> {
  const headEnd = output.indexOf('\n'.charCodeAt(0))
  // Written by bundle-program.ts, so the format is known.
  const head = JSON.parse(new TextDecoder().decode(output.subarray(0, headEnd))) as Head
  const assets = new Map<string, StaticFile>()
  let at = headEnd + 1
  const next = (size: number) => {
    at += size
    return output.slice(at - size, at)
  }
  for (const [name, size, gzippedSize] of head) {
    const bytes = next(size)
    const gzipped = next(gzippedSize)
    const extension = name.slice(name.lastIndexOf('.') + 1)
    const contentType = CONTENT_TYPES[extension] ?? 'application/octet-stream'
    assets.set(name, await staticFile(bytes, contentType, gzipped))
  }
  const html = [...assets].find(([name]) => name.endsWith('.html'))
  if (html === undefined) throw new Error('The bundler wrote no HTML file')
  assets.delete(html[0])
  return { html: html[1], assets }
}
