/**
 * Runs after `npm ci`: removes from node_modules what a server on this machine never reads, and says what that saves.
 * Runs under Node and under Bun; `npm run slim -- --dry-run` only tells.
 */
import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const args = process.argv.slice(2)
const isDryRun = args.includes('--dry-run')
const [given] = args.filter((arg) => !arg.startsWith('--'))
const root = given === undefined ? fileURLToPath(new URL('..', import.meta.url)) : resolve(given)
process.exitCode = slim(join(root, 'node_modules'), join(root, 'package.json'))

function slim(modules, manifest) {
  if (!isFolder(modules)) {
    console.error(`There is no ${modules}: npm ci --omit=dev comes first`)
    return 1
  }
  const development = developmentPackages(modules, manifest)
  const parts = [
    ['ONNX Runtime of other systems', otherSystems(modules)],
    ['TypeScript and type packages', development.length === 0 ? typePackages(modules) : []],
  ]
  let savedBytes = 0
  for (const [what, folders] of parts) {
    const bytes = folders.reduce((sum, folder) => sum + sizeOf(folder), 0)
    savedBytes += bytes
    if (!isDryRun) for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    if (folders.length > 0) console.log(`${megabytes(bytes)}  ${what}`)
  }
  const done = isDryRun ? 'would be saved' : 'saved'
  console.log(`${megabytes(savedBytes)}  ${done}`)
  if (development.length > 0) {
    const found = `${development.slice(0, 3).join(', ')}${development.length > 3 ? ', …' : ''}`
    console.log(`Packages for development stay (${found}): without them after npm ci --omit=dev`)
  }
  return 0
}

/** Packages that only development needs, other than those that others bring along anyway. */
function developmentPackages(modules, manifest) {
  const { devDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'))
  return Object.keys(devDependencies).filter((name) => {
    return !isTypePackage(name) && isFolder(join(modules, name))
  })
}

/** Nothing where this system has no folder of its own. */
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

/** Read by compilers, which a server has none of. */
function typePackages(modules) {
  return ['typescript', '@typescript', 'bun-types', '@types']
    .map((name) => join(modules, name))
    .filter(isFolder)
}

function isTypePackage(name) {
  return name === 'typescript' || name === 'bun-types' || name.startsWith('@types/')
}

function folders(folder) {
  return isFolder(folder)
    ? readdirSync(folder)
        .map((name) => join(folder, name))
        .filter(isFolder)
    : []
}

/** A link to a folder is none: what it leads to belongs to others. */
function isFolder(path) {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).size, 0)
}

function megabytes(bytes) {
  return `${Math.round(bytes / 1_000_000)} MB`.padStart(7)
}
