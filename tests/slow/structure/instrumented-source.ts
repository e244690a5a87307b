/**
 * A copy of the program that records which of its files are used: the first statement of every function marks its file in a
 * mapped file, which the threads and child processes of a server share.
 */
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/async'

/** What a server needs next to its source. */
const NEXT_TO_SOURCE = ['node_modules', 'assets', 'docs', 'drizzle', 'package.json', 'README.md']
const MARK = '__ran'

export interface InstrumentedSource {
  readonly mainPath: string
  /** Forgets which files have run. */
  clear(): void
  /** Returns the files in `src/` in which a function has run since then. */
  ran(): readonly string[]
}

/** @param folder an empty folder for the copy; @param root the project */
export async function instrumentedSource(
  folder: string,
  root: string,
): Promise<InstrumentedSource> {
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true })
  for (const name of NEXT_TO_SOURCE) symlinkSync(join(root, name), join(folder, name))
  const marks = join(folder, 'marks')
  const paths: string[] = []
  for (const source of await sourceFiles(root)) {
    const path = relative(root, source.fileName).split(sep).join('/')
    if (!path.startsWith('src/') || path.startsWith('src/ui/')) continue
    const target = join(folder, path)
    rmSync(target)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, `${instrumented(source, paths.length)}\n${markFunction(marks)}`)
    paths.push(path)
  }
  writeFileSync(marks, new Uint8Array(paths.length))
  const ran = Bun.mmap(marks, { shared: true })
  return {
    mainPath: join(folder, 'src/main.ts'),
    clear: () => ran.fill(0),
    ran: () => paths.filter((_, index) => ran[index] === 1),
  }
}

async function sourceFiles(root: string): Promise<readonly SourceFile[]> {
  const api = new API({ cwd: root })
  try {
    const configPath = join(root, 'tsconfig.json')
    const snapshot = await api.updateSnapshot({ openProjects: [configPath] })
    const project = snapshot.getProject(configPath) ?? snapshot.getProjects()[0]
    if (project === undefined) throw new Error(`No TypeScript project in ${root}`)
    const files = project.rootFiles.filter((path) => /\bsrc[\\/].*\.ts$/.test(path))
    const sources = files.map((path) => project.program.getSourceFile(path))
    return (await Promise.all(sources)).filter((source) => source !== undefined)
  } finally {
    await api.close()
  }
}

/**
 * This must be a function declaration, which is hoisted: modules that import each other may call
 * into this one before its own code runs.
 */
function markFunction(marks: string): string {
  return `function ${MARK}(file) {
  globalThis.${MARK}Files ??= Bun.mmap(${JSON.stringify(marks)}, { shared: true })
  globalThis.${MARK}Files[file] = 1
}
`
}

function instrumented(source: SourceFile, index: number): string {
  const insertions: { readonly at: number; readonly text: string }[] = []
  const visit = (node: Node): void => {
    const body = bodyOf(node)
    if (body !== undefined && is.isBlock(body)) {
      insertions.push({ at: body.getStart(source) + 1, text: `${MARK}(${index});` })
    } else if (body !== undefined) {
      insertions.push({ at: body.getStart(source), text: `(${MARK}(${index}), ` })
      insertions.push({ at: body.end, text: ')' })
    }
    node.forEachChild((child) => {
      visit(child)
    })
  }
  visit(source)
  let text = source.text
  // From the end, so that earlier positions stay valid; the inner one of two at the same place comes first.
  for (const { at, text: inserted } of insertions.reverse().sort((a, b) => b.at - a.at)) {
    text = text.slice(0, at) + inserted + text.slice(at)
  }
  return text
}

function bodyOf(node: Node): Node | undefined {
  const isFunction =
    is.isFunctionDeclaration(node) ||
    is.isFunctionExpression(node) ||
    is.isArrowFunction(node) ||
    is.isMethodDeclaration(node) ||
    is.isConstructorDeclaration(node) ||
    is.isGetAccessorDeclaration(node) ||
    is.isSetAccessorDeclaration(node)
  return isFunction ? node.body : undefined
}
