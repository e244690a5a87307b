/** What a folder of `src/` looks like: how many files it holds, how deep they are, and how they are called. */
import { posix } from 'node:path'
import { importGraph, sourceModules } from './import-rules.ts'
import type { SourceModule } from './source-module.ts'

/** A folder of peers, such as the files of one statement's way or of one protocol, is easier to read whole than in halves. */
const FOLDER_FILES_MAX = 30
/** Of code: without imports, comments and empty lines. */
const SHALLOW_LINES_MAX = 40

/** Folders with more files than a reader looks through; those in folders within it are not its own. */
export function crowdedFolders(modules: readonly SourceModule[]): readonly string[] {
  const folders = Map.groupBy(sourceModules(modules), ({ path }) => posix.dirname(path))
  return [...folders]
    .filter(([, files]) => files.length > FOLDER_FILES_MAX)
    .map(([folder, files]) => `${folder}: ${files.length} files`)
}

/** One format each, and the only file that knows its library. */
const READERS_OF_FORMATS = /^src\/reading\/(documents|tables)\//
/** As front-end engineers expect it: a component a file, and a resource of the API. */
const COMPONENTS = /^src\/ui\/(.+\.tsx$|api\/)/

/**
 * Files that one other file imports and that hide little: they belong into that file. A thread's entry, wiring, a command, types alone and
 * what a test imports have a reason of their own.
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
    const isWiring = /^src\/(?:workers|composition|cli\/commands)\//.test(path)
    if (isTypeOnly || isTested || isWiring) return []
    return [`${path}: ${codeLineCount} lines, imported by ${importer} alone`]
  })
}

/** Base names that several files of `src/` have: a reader who opens one by its name gets the other. */
export function sharedNames(modules: readonly SourceModule[]): readonly string[] {
  const names = Map.groupBy(sourceModules(modules), ({ path }) => posix.basename(path))
  return [...names]
    .filter(([, files]) => files.length > 1)
    .map(([, files]) => files.map(({ path }) => path).join(' and '))
}
