/**
 * The files of the page, as the browser gets them. They are bundled by a process of its own when the first one is asked
 * for, and stay in memory: the start of the server costs nothing, and nothing is written where the code lies.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../errors.ts'

/** Bundling takes a tenth of a second; a machine that swaps gets its time. */
const BUNDLE_MS_MAX = 30_000

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

async function bundled(): Promise<PageFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'eider-page-'))
  try {
    const program = fileURLToPath(new URL('bundle-program.ts', import.meta.url))
    const page = fileURLToPath(new URL('../../ui/index.html', import.meta.url))
    const child = Bun.spawn([process.execPath, program, page, folder], {
      // Its settings, as those of JSX, are the project's.
      cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
      timeout: BUNDLE_MS_MAX,
      killSignal: 'SIGKILL',
    })
    const [complaint, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
    if (code !== 0) throw new Error(`The bundler ended with ${code}: ${complaint.slice(0, 4000)}`)
    return await filesIn(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function filesIn(folder: string): Promise<PageFiles> {
  const names = (await readdir(folder)).filter((name) => !name.endsWith('.gz'))
  const assets = new Map<string, PageFile>()
  for (const name of names) {
    const extension = name.slice(name.lastIndexOf('.') + 1)
    const bytes = await Bun.file(join(folder, name)).bytes()
    const gzipped = await Bun.file(join(folder, `${name}.gz`)).bytes()
    const contentType = CONTENT_TYPES[extension] ?? 'application/octet-stream'
    assets.set(name, { bytes, gzipped, contentType })
  }
  const html = [...assets].find(([name]) => name.endsWith('.html'))
  if (html === undefined) throw new Error('The bundler wrote no HTML file')
  assets.delete(html[0])
  return { html: html[1], assets }
}
