/**
 * Rules for files and functions: their size, their names, and constructs that the project avoids.
 */
import { posix } from 'node:path'
import type { FindingKind, SourceModule } from './source-module.ts'

const FILE_LINES_MAX = 400
const FUNCTION_LINES_MAX = 60
/** A component is mostly markup, with one attribute per line. */
const COMPONENT_LINES_MAX = 100
const PARAMETERS_MAX = 4

/** These names do not say what is inside. */
const BANNED_NAMES: readonly string[] = [
  'utils',
  'util',
  'helpers',
  'helper',
  'common',
  'manager',
  'service',
  'types',
]

/** The environment is read once and passed on as values. */
const MAY_READ_ENVIRONMENT: readonly string[] = [
  'src/wiring/settings/settings.ts',
  'src/main.ts',
  'src/serve.ts',
  'src/eider.ts',
]

export function sizeViolations(modules: readonly SourceModule[]): readonly string[] {
  return modules.flatMap((module) => {
    const { path, lineCount } = module
    const long = lineCount > FILE_LINES_MAX ? [`${path}: ${lineCount} lines`] : []
    return [...long, ...functionViolations(module)]
  })
}

/**
 * Tables and wiring may be long, because they make no decisions. The same holds for a test's
 * `describe` with its cases, and tests are not measured at all.
 */
function functionViolations({ path, functions }: SourceModule): readonly string[] {
  if (path.startsWith('tests/')) return []
  return functions.flatMap(({ name, line, lineCount, parameterCount, isBranching }) => {
    const at = `${path}:${line}: ${name} has`
    const linesMax = path.endsWith('.tsx') ? COMPONENT_LINES_MAX : FUNCTION_LINES_MAX
    const isLong = isBranching && lineCount > linesMax
    const long = isLong ? [`${at} ${lineCount} lines`] : []
    const wide = parameterCount > PARAMETERS_MAX ? [`${at} ${parameterCount} parameters`] : []
    return [...long, ...wide]
  })
}

export function nameViolations(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    const parts = path.split('/').map((part) => part.replace(/\..*$/, ''))
    const banned = parts.filter((part) => BANNED_NAMES.includes(part))
    const file = posix.basename(path).replace(/(\.test|\.d)?\.[a-z]+$/, '')
    const isKebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/.test(file)
    return [
      ...banned.map((part) => `${path}: "${part}" names nothing`),
      ...(isKebabCase ? [] : [`${path}: not in kebab-case`]),
    ]
  })
}

export function constructViolations(modules: readonly SourceModule[]): readonly string[] {
  return modules.flatMap(({ path, findings }) => {
    return findings
      .filter((finding) => !isExempt(path, finding.kind))
      .map((finding) => `${path}:${finding.line}: ${finding.kind}`)
  })
}

function isExempt(path: string, kind: FindingKind): boolean {
  // A declaration states what a file of another kind exports, which the project cannot choose.
  if (path.endsWith('.d.ts') && kind === 'default export') return true
  if (path.startsWith('src/')) return kind === 'environment' && MAY_READ_ENVIRONMENT.includes(path)
  const strictEverywhere: readonly FindingKind[] = ['any', 'non-null assertion', 'enum']
  return !strictEverywhere.includes(kind)
}
