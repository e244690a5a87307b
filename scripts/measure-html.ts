/**
 * Measures which text is lost and which clutter is left when a folder of HTML pages is read: `bun
 * scripts/measure-html.ts <folder> [pages for each sub-folder]`. Lists the worst pages by each
 * measure.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import domino from '@mixmark-io/domino'
import { readHtml } from '../src/reading/documents/html.ts'

const [folder, perFolder = '12'] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: bun scripts/measure-html.ts <folder> [pages]')

interface Measured {
  readonly path: string
  readonly chars: number
  readonly linkTargets: number
  readonly escapes: number
  readonly blocks: number
  readonly lostBlocks: number
  readonly words: number
  readonly lostWords: number
  readonly isIndex: boolean
  readonly milliseconds: number
}

const measured = pagesOf(folder, Number(perFolder)).map(measure)
report(measured)

/** Chooses pages spread evenly over each sub-folder, and the same ones each time. */
function pagesOf(root: string, count: number): readonly string[] {
  return readdirSync(root).flatMap((name) => {
    const inside = readdirSync(join(root, name), { recursive: true, withFileTypes: true })
    const files = inside.filter((entry) => entry.isFile() && /\.x?html?$/.test(entry.name))
    const pages = files.map((file) => join(file.parentPath, file.name)).sort()
    const step = Math.max(1, pages.length / count)
    const indexes = Array.from({ length: Math.min(count, pages.length) }, (_, at) =>
      Math.floor(at * step),
    )
    return indexes.map((index) => pages[index] ?? '')
  })
}

function measure(path: string): Measured {
  const bytes = readFileSync(path)
  const before = process.cpuUsage()
  const [read] = [
    ...readHtml({ bytes, format: 'html', charset: null, url: `http://a.test/${path}` }),
  ]
  const used = process.cpuUsage(before)
  const content = read?.content ?? ''
  const isIndex = read?.columns.kind === 'index'
  const document = domino.createDocument(bytes.toString('utf8'), true)
  for (const element of Array.from(document.querySelectorAll('script, style, noscript, template')))
    element.remove()
  const blocks = Array.from(document.querySelectorAll('pre')).filter((pre) => {
    return !pre.querySelector('button, .linenos, .lineno') && (pre.textContent ?? '').trim() !== ''
  })
  const lost = blocks.filter((pre) => !content.includes(trimmedBlock(pre.textContent ?? '')))
  const main =
    Array.from(document.querySelectorAll('main, [role=main], article'))[0] ?? document.body
  for (const element of Array.from(main.querySelectorAll('nav, header, footer'))) element.remove()
  const expected = wordsOf(main.textContent ?? '')
  const found = countsOf(wordsOf(content))
  const missing = expected.filter((word) => {
    const left = found.get(word) ?? 0
    found.set(word, left - 1)
    return left <= 0
  })
  const text = outsideOfCode(content)
  return {
    path,
    chars: content.length,
    linkTargets: (text.match(/\]\([^)]*\)/g) ?? []).join('').length,
    escapes: (text.match(/\\[*_[\]`#.|~>-]/g) ?? []).length,
    blocks: blocks.length,
    lostBlocks: isIndex ? 0 : lost.length,
    words: expected.length,
    lostWords: isIndex ? 0 : missing.length,
    isIndex,
    milliseconds: (used.user + used.system) / 1000,
  }
}

function trimmedBlock(text: string): string {
  return text.replace(/^(?:[ \t]*\n)+/, '').trimEnd()
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

function outsideOfCode(markdown: string): string {
  return markdown.replace(/^(`{3,})[^\n]*\n[\s\S]*?\n\1$/gm, '').replace(/(`+)[^\n]*?\1/g, '')
}

function report(pages: readonly Measured[]): void {
  const sum = (
    key:
      | 'chars'
      | 'linkTargets'
      | 'escapes'
      | 'blocks'
      | 'lostBlocks'
      | 'words'
      | 'lostWords'
      | 'milliseconds',
  ) => {
    return pages.reduce((total, page) => total + page[key], 0)
  }
  console.log(`pages ${pages.length}, indexes ${pages.filter((page) => page.isIndex).length}`)
  console.log(
    `link targets ${((100 * sum('linkTargets')) / sum('chars')).toFixed(2)} % of ${sum('chars')} characters`,
  )
  console.log(`escapes ${sum('escapes')}`)
  console.log(`blocks of code ${sum('blocks')}, not whole ${sum('lostBlocks')}`)
  console.log(
    `words ${sum('words')}, lost ${((100 * sum('lostWords')) / sum('words')).toFixed(2)} %`,
  )
  console.log(`CPU ${(sum('milliseconds') / pages.length).toFixed(1)} ms a page`)
  for (const key of ['linkTargets', 'escapes', 'lostBlocks'] as const) {
    for (const page of pages.filter((one) => one[key] > 0).slice(0, 12))
      console.log(key, page[key], page.path)
  }
  const worst = [...pages].sort(
    (a, b) => b.lostWords / (b.words + 50) - a.lostWords / (a.words + 50),
  )
  for (const page of worst.slice(0, 25))
    console.log('words', page.lostWords, 'of', page.words, page.path)
  for (const page of pages.filter((one) => one.isIndex)) console.log('index', page.words, page.path)
}
