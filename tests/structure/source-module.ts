/**
 * The project's own TypeScript as facts that rules can be stated over, read by the compiler's parser (TypeScript 7's
 * `unstable/async` API; its `sync` twin needs an internal of Node that Bun does not have).
 */
import { isAbsolute, join, relative, sep } from 'node:path'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/async'
import { createVirtualFileSystem } from 'typescript/unstable/fs'

export interface SourceModule {
  /** The path from the project's root, separated by `/`. */
  readonly path: string
  readonly lineCount: number
  /** The number of lines that are neither empty nor only an import or a comment. */
  readonly codeLineCount: number
  /**
   * Whether the module contains only interfaces, type aliases and imports, so that nothing of it
   * exists at run time.
   */
  readonly isTypeOnly: boolean
  /** The module names in imports, exports, `import()` and import types. */
  readonly imports: readonly string[]
  /** Those that remain at run time, so not `import type`. */
  readonly runtimeImports: readonly string[]
  readonly functions: readonly FunctionFact[]
  readonly findings: readonly Finding[]
}

export interface FunctionFact {
  readonly name: string
  /** Counted from 1. */
  readonly line: number
  readonly lineCount: number
  readonly parameterCount: number
  /** Whether its own code branches or loops. Functions inside it are checked separately. */
  readonly isBranching: boolean
}

export interface Finding {
  readonly kind: FindingKind
  /** Counted from 1. */
  readonly line: number
}

export type FindingKind =
  | 'any'
  | 'non-null assertion'
  | 'enum'
  | 'default export'
  | 'module-level mutable variable'
  | 'cast without a reason above'
  | 'environment'

/** Read once per process, so that every test file gets the same modules. */
const projects = new Map<string, Promise<readonly SourceModule[]>>()

/** Returns every module that the project's tsconfig.json names, ordered by path. */
export function projectModules(root: string): Promise<readonly SourceModule[]> {
  const known = projects.get(root) ?? modulesOf(root, {})
  projects.set(root, known)
  return known
}

/** The same facts for modules that are not on disk. Maps paths from the root to text. */
export function plantedModules(
  files: Readonly<Record<string, string>>,
): Promise<readonly SourceModule[]> {
  const root = '/planted'
  const config = JSON.stringify({
    compilerOptions: {
      noLib: true,
      types: [],
      module: 'Preserve',
      allowImportingTsExtensions: true,
    },
    include: ['**/*'],
  })
  const texts = Object.entries(files).map(([path, text]) => [join(root, path), text])
  const all = Object.fromEntries([...texts, [join(root, 'tsconfig.json'), config]])
  return modulesOf(root, { fs: createVirtualFileSystem(all) })
}

type ApiOptions = NonNullable<ConstructorParameters<typeof API>[0]>

async function modulesOf(root: string, options: ApiOptions): Promise<readonly SourceModule[]> {
  const api = new API({ cwd: root, ...options })
  try {
    const configPath = join(root, 'tsconfig.json')
    const snapshot = await api.updateSnapshot({ openProjects: [configPath] })
    const project = snapshot.getProject(configPath) ?? snapshot.getProjects()[0]
    if (project === undefined) throw new Error(`No TypeScript project in ${root}`)
    const modules: SourceModule[] = []
    for (const file of [...project.rootFiles].sort()) {
      if (file.endsWith('.json')) continue
      const source = await project.program.getSourceFile(file)
      if (source === undefined) throw new Error(`The compiler has no syntax tree of ${file}`)
      const path = isAbsolute(file) ? relative(root, file) : file
      modules.push(moduleOf(path.split(sep).join('/'), source))
    }
    return modules
  } finally {
    await api.close()
  }
}

function moduleOf(path: string, source: SourceFile): SourceModule {
  const imports = new Set<string>()
  const runtimeImports = new Set<string>()
  const functions: FunctionFact[] = []
  const findings: Finding[] = []
  const lineOf = lineFinder(source.text)
  const visit = (node: Node): void => {
    const imported = importedBy(node)
    if (imported !== undefined) {
      imports.add(imported)
      if (!isTypeImport(node)) runtimeImports.add(imported)
    }
    const parameters = parametersOf(node)
    if (parameters !== undefined) {
      functions.push(functionFact(node, { source, lineOf, parameterCount: parameters }))
    }
    const kind = findingOf(node, source, lineOf)
    if (kind !== undefined) findings.push({ kind, line: lineOf(node.getStart(source)) })
    node.forEachChild((child) => {
      visit(child)
    })
  }
  visit(source)
  return {
    path,
    lineCount: source.text.trimEnd().split('\n').length,
    codeLineCount: codeLineCount(source),
    isTypeOnly: source.statements.every(isTypeStatement),
    imports: [...imports],
    runtimeImports: [...runtimeImports],
    functions,
    findings,
  }
}

function codeLineCount(source: SourceFile): number {
  const code = source.statements.filter((statement) => !is.isImportDeclaration(statement))
  const lines = code.flatMap((statement) => statement.getText(source).split('\n'))
  return lines.filter((line) => !/^\s*($|\/\/|\/\*|\*)/.test(line)).length
}

function isTypeStatement(statement: Node): boolean {
  return (
    is.isInterfaceDeclaration(statement) ||
    is.isTypeAliasDeclaration(statement) ||
    is.isImportDeclaration(statement) ||
    (is.isExportDeclaration(statement) && statement.isTypeOnly)
  )
}

type LineOf = (position: number) => number

function lineFinder(text: string): LineOf {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (position) => starts.findLastIndex((start) => start <= position) + 1
}

function importedBy(node: Node): string | undefined {
  if (is.isImportDeclaration(node) || is.isExportDeclaration(node)) {
    return textOf(node.moduleSpecifier)
  }
  if (is.isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
    return textOf(node.arguments[0])
  }
  if (is.isImportTypeNode(node)) {
    return is.isLiteralTypeNode(node.argument) ? textOf(node.argument.literal) : undefined
  }
  return undefined
}

function isTypeImport(node: Node): boolean {
  if (is.isImportDeclaration(node)) {
    return node.importClause?.phaseModifier === SyntaxKind.TypeKeyword
  }
  return is.isImportTypeNode(node) || (is.isExportDeclaration(node) && node.isTypeOnly)
}

function textOf(node: Node | undefined): string | undefined {
  return node !== undefined && is.isStringLiteral(node) ? node.text : undefined
}

/** The number of this function's parameters, undefined for anything but a function with a body. */
function parametersOf(node: Node): number | undefined {
  const isFunction =
    is.isFunctionDeclaration(node) ||
    is.isFunctionExpression(node) ||
    is.isArrowFunction(node) ||
    is.isMethodDeclaration(node) ||
    is.isConstructorDeclaration(node) ||
    is.isGetAccessorDeclaration(node) ||
    is.isSetAccessorDeclaration(node)
  return isFunction && node.body !== undefined ? node.parameters.length : undefined
}

function functionFact(
  node: Node,
  at: { readonly source: SourceFile; readonly lineOf: LineOf; readonly parameterCount: number },
): FunctionFact {
  const line = at.lineOf(node.getStart(at.source))
  const lineCount = at.lineOf(node.end) - line + 1
  return {
    name: nameOf(node),
    line,
    lineCount,
    parameterCount: at.parameterCount,
    isBranching: isBranching(node),
  }
}

const BRANCHES: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.IfStatement,
  SyntaxKind.ConditionalExpression,
  SyntaxKind.SwitchStatement,
  SyntaxKind.ForStatement,
  SyntaxKind.ForInStatement,
  SyntaxKind.ForOfStatement,
  SyntaxKind.WhileStatement,
  SyntaxKind.DoStatement,
  SyntaxKind.CatchClause,
])

function isBranching(node: Node): boolean {
  let found = false
  node.forEachChild((child) => {
    const isInner = parametersOf(child) !== undefined
    found ||= BRANCHES.has(child.kind) || (!isInner && isBranching(child))
  })
  return found
}

function nameOf(node: Node): string {
  const own = 'name' in node ? node.name : undefined
  const holder = node.parent
  const outer = holder !== undefined && is.isVariableDeclaration(holder) ? holder.name : undefined
  for (const name of [own, outer]) {
    if (typeof name === 'object' && name !== null && 'text' in name) return String(name.text)
  }
  return 'a function'
}

function findingOf(node: Node, source: SourceFile, lineOf: LineOf): FindingKind | undefined {
  if (node.kind === SyntaxKind.AnyKeyword) return 'any'
  if (is.isNonNullExpression(node)) return 'non-null assertion'
  if (is.isEnumDeclaration(node)) return 'enum'
  if (isDefaultExport(node)) return 'default export'
  if (isMutableVariable(node) && node.parent === source) return 'module-level mutable variable'
  if (isCast(node) && !hasReasonAbove(source.text, lineOf(node.getStart(source)))) {
    return 'cast without a reason above'
  }
  if (isEnvironment(node)) return 'environment'
  return undefined
}

function isDefaultExport(node: Node): boolean {
  if (is.isExportAssignment(node)) return true
  const isNamed = is.isFunctionDeclaration(node) || is.isClassDeclaration(node)
  const modifiers = isNamed ? (node.modifiers ?? []) : []
  return modifiers.some((one) => one.kind === SyntaxKind.DefaultKeyword)
}

function isMutableVariable(node: Node): boolean {
  return is.isVariableStatement(node) && /^(export\s+)?(let|var)\b/.test(node.getText())
}

function isCast(node: Node): boolean {
  if (is.isTypeAssertion(node)) return true
  return is.isAsExpression(node) && node.type.getText() !== 'const'
}

/**
 * A cast's statement may span several lines, so its reason can be in a comment at most this many
 * lines above.
 */
const REASON_LINES_MAX = 4

function hasReasonAbove(text: string, line: number): boolean {
  const near = text.split('\n').slice(Math.max(0, line - 1 - REASON_LINES_MAX), line)
  return near.some((one) => /^\s*(\/\*|\*|\/\/)|\s\/\//.test(one))
}

function isEnvironment(node: Node): boolean {
  if (!is.isPropertyAccessExpression(node) || node.name.getText() !== 'env') return false
  return /^(process|Bun|import\.meta)$/.test(node.expression.getText())
}
