/**
 * Runs after `npm ci`, removes files from node_modules that a server on this machine never reads,
 * and reports the savings. Works under Node and Bun; `npm run slim -- --dry-run` only reports.
 */
import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Parts of packages that Eider does not load: other vocabularies and builds, programs, tests and manuals. */
const UNUSED = [
  ['js-tiktoken/dist', /^index\.c?js$|^ranks\/(?!cl100k_base\.).*\.c?js$/],
  ['swagger-ui-dist', /es-bundle/],
  ['openai', /^src$|^(?!internal\/auth\/).*\.(js|d\.ts)$|^CHANGELOG\.md$/],
  ['@anthropic-ai/sdk', /^src$|\.js$|\.d\.ts$|^CHANGELOG\.md$/],
  ['drizzle-orm', /\.cjs$|\.d\.cts$/],
  ['zod', /^src$/],
  ['@sinclair/typebox/build', /^cjs$/],
  ['@modelcontextprotocol/sdk/dist', /^cjs$/],
  ['hono/dist', /^cjs$/],
  ['@codemirror', /\.cjs$|\.d\.cts$/],
  ['@opentelemetry', /\/build\/esnext$/],
  ['@mixmark-io/domino', /^test$/],
  ['bintrees', /^test$/],
  ['fast-check/lib', /^cjs$|types57$/],
  ['axe-core', /^locales$/],
  ['bun-types', /^docs$/],
]

const args = process.argv.slice(2)
const isDryRun = args.includes('--dry-run')
const [given] = args.filter((arg) => !arg.startsWith('--'))
const root = given === undefined ? fileURLToPath(new URL('..', import.meta.url)) : resolve(given)
process.exitCode = slim(join(root, 'node_modules'), join(root, 'package.json'))

function slim(modules, manifest) {
  if (!isFolder(modules)) {
    console.error(`There is no ${modules}: run npm ci --omit=dev first`)
    return 1
  }
  const development = developmentPackages(modules, manifest)
  const parts = [
    ['ONNX Runtime of other systems', otherSystems(modules)],
    ['source maps and others that Eider does not load', unusedFiles(modules)],
    ['TypeScript and type packages', development.length === 0 ? typePackages(modules) : []],
  ]
  let savedBytes = 0
  for (const [what, paths] of parts) {
    const bytes = paths.reduce((sum, path) => sum + sizeOf(path), 0)
    savedBytes += bytes
    if (!isDryRun) for (const path of paths) rmSync(path, { recursive: true, force: true })
    if (paths.length > 0) console.log(`${megabytes(bytes)}  ${what}`)
  }
  const done = isDryRun ? 'would be saved' : 'saved'
  console.log(`${megabytes(savedBytes)}  ${done}`)
  if (development.length > 0) {
    const found = `${development.slice(0, 3).join(', ')}${development.length > 3 ? ', …' : ''}`
    console.log(`Development packages stay (${found}); npm ci --omit=dev leaves them out`)
  }
  return 0
}

/** Returns packages that only development needs. Type packages are part of others anyway. */
function developmentPackages(modules, manifest) {
  const { devDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'))
  return Object.keys(devDependencies).filter((name) => {
    return !isTypePackage(name) && isFolder(join(modules, name))
  })
}

/** Returns nothing if this system has no folder of its own. */
function otherSystems(modules) {
  const binaries = join(modules, 'onnxruntime-node', 'bin')
  return folders(binaries).flatMap((version) => {
    if (!isFolder(join(version, process.platform, process.arch))) return []
    return folders(version).flatMap((system) => {
      return folders(system).filter(
        (folder) => folder !== join(version, process.platform, process.arch),
      )
    })
  })
}

function unusedFiles(modules) {
  const unused = UNUSED.flatMap(([name, pattern]) => {
    const folder = join(modules, name)
    const found = entriesOf(folder, { recursive: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => pattern.test(relative(folder, path).replaceAll('\\', '/')))
    return found.filter((path) => !found.some((one) => path.startsWith(join(one, '/'))))
  })
  const maps = entriesOf(modules, { recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.map'))
    .map((entry) => join(entry.parentPath, entry.name))
  return [...unused, ...maps.filter((path) => !unused.some((one) => path.startsWith(one)))]
}

function entriesOf(folder, options = {}) {
  return isFolder(folder) ? readdirSync(folder, { ...options, withFileTypes: true }) : []
}

/** Only compilers read these. */
function typePackages(modules) {
  return ['typescript', '@typescript', 'bun-types', '@types']
    .map((name) => join(modules, name))
    .filter(isFolder)
}

function isTypePackage(name) {
  return name === 'typescript' || name === 'bun-types' || name.startsWith('@types/')
}

function folders(folder) {
  return entriesOf(folder)
    .map((entry) => join(folder, entry.name))
    .filter(isFolder)
}

/** Returns false for a link, because its target may belong to other programs. */
function isFolder(path) {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function sizeOf(path) {
  if (!isFolder(path)) return lstatSync(path).size
  return entriesOf(path, { recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).size, 0)
}

function megabytes(bytes) {
  return `${Math.round(bytes / 1_000_000)} MB`.padStart(7)
}
