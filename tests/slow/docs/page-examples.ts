/** Reads the examples of a page: the blocks of a language, and the requests with `curl`. */
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../../..')

/** @param path a path relative to the root of the repository */
export function pageText(path: string): Promise<string> {
  return Bun.file(join(ROOT, path)).text()
}

export interface Block {
  readonly language: string
  readonly text: string
}

/** Returns the code blocks of a page in order. */
export function allBlocks(markdown: string): readonly Block[] {
  const blocks = markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)
  return [...blocks].map(([, language = '', text = '']) => ({ language, text: text.trim() }))
}

export function blocksOf(markdown: string, language: string): readonly string[] {
  return allBlocks(markdown)
    .filter((block) => block.language === language)
    .map((block) => block.text)
}

export interface CurlCall {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/** Reads `curl -X POST localhost:47334/api/… -H '…' -d '…'` like a shell. */
export function curlCallOf(command: string): CurlCall {
  const words = [...command.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\s\\]+)/g)].map((word) => {
    return word[1] ?? word[2]?.replaceAll(/\\(.)/g, '$1') ?? word[3] ?? ''
  })
  const after = (flag: string) =>
    words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined
  const address = words.find((word) => word.startsWith('localhost:47334')) ?? ''
  const data = after('-d')
  return {
    method: after('-X') ?? 'GET',
    path: address.replace('localhost:47334', ''),
    body: data === undefined ? undefined : JSON.parse(data),
  }
}

export function commandsOf(markdown: string): readonly string[] {
  return blocksOf(markdown, 'sh')
    .flatMap((block) => block.split(/\n\n/))
    .filter((command) => command.startsWith('curl'))
}
