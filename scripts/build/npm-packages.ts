/** Creates the npm packages: one per system with its file, and one that starts the right file. */
import { chmod, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { description, license } from '../../package.json'
import { ROOT } from './bundle.ts'
import type { Platform } from './platforms.ts'

/** Runs under Node, finds this system's package, and runs its file. */
const STARTER = `#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

const name = \`@eider/\${process.platform}-\${process.arch}\`
let file
try {
  file = createRequire(import.meta.url).resolve(\`\${name}/eider\${process.platform === 'win32' ? '.exe' : ''}\`)
} catch {
  console.error(\`eider: \${name} is not installed: there is no Eider for this system, or npm left out optional packages\`)
  process.exit(1)
}
const child = spawn(file, process.argv.slice(2), { stdio: 'inherit' })
// A terminal sends Ctrl-C to both, and the program decides what it means.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
child.on('exit', (code, signal) => process.exit(signal === null ? code : 1))
`

/** @param built the file for each platform */
export async function npmPackages(
  built: ReadonlyMap<Platform, string>,
  { version, dist }: { readonly version: string; readonly dist: string },
): Promise<void> {
  const root = join(dist, 'npm')
  await rm(root, { recursive: true, force: true })
  const shared = { version, license, description }
  const optional: Record<string, string> = {}
  for (const [{ system, arch }, file] of built) {
    const name = `@eider/${system}-${arch}`
    optional[name] = version
    const program = system === 'win32' ? 'eider.exe' : 'eider'
    const folder = join(root, basename(name))
    await mkdir(folder, { recursive: true })
    await cp(file, join(folder, program))
    await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
    await writeManifest(folder, { name, ...shared, os: [system], cpu: [arch], files: [program] })
  }
  const folder = join(root, 'eider')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'eider.mjs'), STARTER)
  await chmod(join(folder, 'eider.mjs'), 0o755)
  for (const path of ['LICENSE', 'README.md']) await cp(join(ROOT, path), join(folder, path))
  await writeManifest(folder, {
    ...{ name: 'eider', ...shared, type: 'module', bin: { eider: 'eider.mjs' } },
    ...{ engines: { node: '>=20' }, files: ['eider.mjs'], optionalDependencies: optional },
  })
}

function writeManifest(folder: string, manifest: object): Promise<void> {
  return writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
