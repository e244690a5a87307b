/** Rules for folders in `src/`: the number of their files, their depth and their names. */
import { posix } from 'node:path'
import { importGraph, sourceModules } from './import-rules.ts'
import type { SourceModule } from './source-module.ts'

/** Lines of code without imports, comments and empty lines. */
const SHALLOW_LINES_MAX = 40

/**
 * Returns folders within one top-level folder that import each other. The files directly in a
 * folder also count as a folder: they either import its subfolders or are imported by them.
 */
export function mutualFolders(modules: readonly SourceModule[]): readonly string[] {
  const imports = new Set<string>()
  for (const [path, targets] of importGraph(sourceModules(modules))) {
    for (const target of targets) {
      imports.add(`${posix.dirname(path)} and ${posix.dirname(target)}`)
    }
  }
  return [...imports].filter((pair) => {
    const [from = '', to = ''] = pair.split(' and ')
    const isWithinOne = from.split('/')[1] === to.split('/')[1]
    return from < to && isWithinOne && imports.has(`${to} and ${from}`)
  })
}

/** Lines and files of each top-level folder of `src/`, of the files directly in it (`(root)`), and of all. */
export function folderSizes(
  modules: readonly SourceModule[],
): Readonly<Record<string, readonly [files: number, lines: number]>> {
  const sizes: Record<string, readonly [number, number]> = {}
  for (const { path, lineCount } of sourceModules(modules)) {
    const parts = path.split('/')
    for (const folder of ['all', parts.length > 2 ? (parts[1] ?? '') : '(root)']) {
      const [files, lines] = sizes[folder] ?? [0, 0]
      sizes[folder] = [files + 1, lines + lineCount]
    }
  }
  return sizes
}

/** Each of these files handles one format, and no other file uses the format's library. */
const READERS_OF_FORMATS = /^src\/reading\/(documents|tables)\//
/** Front-end engineers expect a file for each component, and for each resource of the API. */
const COMPONENTS = /^src\/ui\/(.+\.tsx$|api\/)/

/**
 * Returns files that only one other file imports and that hide little, so that they belong in that file. A thread's entry, wiring, a
 * command, types alone and what a test imports have their own reasons.
 */
export function shallowFiles(modules: readonly SourceModule[]): readonly string[] {
  const importers = new Map<string, string[]>()
  for (const [path, targets] of importGraph(modules)) {
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), path])
  }
  return sourceModules(modules).flatMap(({ path, codeLineCount, isTypeOnly }) => {
    const importedBy = importers.get(path) ?? []
    const [importer, ...others] = importedBy.filter((one) => one.startsWith('src/'))
    if (importer === undefined || others.length > 0 || codeLineCount >= SHALLOW_LINES_MAX) return []
    if (READERS_OF_FORMATS.test(path) || COMPONENTS.test(path)) return []
    const isTested = importedBy.some((one) => one.startsWith('tests/'))
    const isWiring = /^src\/(?:wiring|cli\/commands)\//.test(path)
    if (isTypeOnly || isTested || isWiring) return []
    return [`${path}: ${codeLineCount} lines, imported by ${importer} alone`]
  })
}

/**
 * Returns base names that several files of `src/` have, because a reader who searches for one may
 * open the other.
 */
export function sharedNames(modules: readonly SourceModule[]): readonly string[] {
  const names = Map.groupBy(sourceModules(modules), ({ path }) => posix.basename(path))
  return [...names]
    .filter(([, files]) => files.length > 1)
    .map(([, files]) => files.map(({ path }) => path).join(' and '))
}
