/**
 * The files of the page, as the browser gets them. They are bundled by a process of its own when the first one is asked
 * for, and stay in memory: the start of the server costs nothing, and no folder is written to.
 */
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../errors.ts'

/** Bundling takes a tenth of a second; a machine that swaps gets its time. */
const BUNDLE_MS_MAX = 30_000
const COMPLAINT_CHARS_MAX = 4000

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json',
}

export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly contentType: string
  /** Quoted, as HTTP has it. */
  readonly etag: string
}

/** The one HTML file that every address of the page answers with, and what it loads, by name. */
export interface PageFiles {
  readonly html: PageFile
  readonly assets: ReadonlyMap<string, PageFile>
}

/** @returns a function that bundles at its first call, and again after a failure */
export function pageFiles(bundle: () => Promise<PageFiles> = bundled): () => Promise<PageFiles> {
  let bundling: Promise<PageFiles> | undefined
  return () => {
    bundling ??= bundle().catch((error: unknown) => {
      bundling = undefined
      const message = 'The page could not be made. The API works; the log says what is wrong'
      throw new AppError('internal', message, { cause: error })
    })
    return bundling
  }
}

/** @param page the HTML file. @throws Error with what the bundler complained about */
export async function bundled(
  page = fileURLToPath(new URL('../../ui/index.html', import.meta.url)),
): Promise<PageFiles> {
  const program = fileURLToPath(new URL('bundle-program.ts', import.meta.url))
  const child = Bun.spawn([process.execPath, '--no-env-file', program, page], {
    // Its settings, as those of JSX, are the project's.
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    // Nothing of the server's own environment: that has its keys, and may have settings of Bun.
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

/** Name, size, compressed size. */
type Head = readonly (readonly [string, number, number])[]

function filesIn(output: Uint8Array<ArrayBuffer>): PageFiles {
  const headEnd = output.indexOf('\n'.charCodeAt(0))
  // What our own program writes.
  const head = JSON.parse(new TextDecoder().decode(output.subarray(0, headEnd))) as Head
  const assets = new Map<string, PageFile>()
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
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
    assets.set(name, { bytes, gzipped, contentType, etag: `"${hash}"` })
  }
  const html = [...assets].find(([name]) => name.endsWith('.html'))
  if (html === undefined) throw new Error('The bundler wrote no HTML file')
  assets.delete(html[0])
  return { html: html[1], assets }
}
