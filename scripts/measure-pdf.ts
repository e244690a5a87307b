/**
 * Measures how much of the PDFs in a folder is read, compared to poppler's `pdftotext`: characters (as a bag, without spaces)
 * and the order
 * of words (as triples of consecutive words), both before and after headers, footers and contents are removed.
 *
 *   bun scripts/measure-pdf.ts <folder> [part of a name]
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pageDrawing } from '../src/reading/documents/pdf/page/page-glyphs.ts'
import { PdfFile, Pdfium } from '../src/reading/documents/pdf/page/pdf-file.ts'
import { pagePieces, readingOrder } from '../src/reading/documents/pdf/pages-text.ts'
import { readDocument } from '../src/reading/processes/read-file.ts'

const [folder = '.', part = ''] = process.argv.slice(2)
const pdfium = await Pdfium.load()
let [files, within, pages, cpuMs] = [0, 0, 0, 0]

console.log('file | pages | characters | missing % | added % | triples % | kept % | CPU ms/page')
for (const name of (await readdir(folder)).sort()) {
  if (!name.endsWith('.pdf') || !name.includes(part)) continue
  await measure(name, join(folder, name))
}
console.log(
  `${files} files, ${within} within 1 %; ${pages} pages, ${(cpuMs / pages).toFixed(1)} ms each`,
)

async function measure(name: string, path: string): Promise<void> {
  const wanted = await pdftotext(path)
  const bytes = new Uint8Array(await Bun.file(path).arrayBuffer())
  try {
    const before = process.cpuUsage()
    const warnings: string[] = []
    const raw = { bytes, format: 'pdf', charset: null, url: null } as const
    const document = await readDocument(raw, {
      recognize: () => {},
      warn: (sentence) => void warnings.push(sentence),
    })
    const used = process.cpuUsage(before)
    const count = document.parts?.starts.length ?? 1
    const ms = (used.user + used.system) / 1000
    const drawn = drawnText(bytes)
    const [reference, found] = [bagOf(wanted), bagOf(drawn)]
    const letters = (text: string) => bagOf(text.replace(/[^\p{L}\p{N}]/gu, ''))
    const missing = share(reference, found)
    const added = share(found, reference)
    files += 1
    pages += count
    cpuMs += ms
    if (missing <= 1 && added <= 1) within += 1
    const cells = [name.slice(0, 56), count, total(reference), missing.toFixed(2), added.toFixed(2)]
    const order = 100 - share(triplesOf(wanted), triplesOf(drawn))
    cells.push(
      order.toFixed(1),
      (100 - share(letters(wanted), letters(document.content))).toFixed(1),
      (ms / count).toFixed(1),
    )
    console.log(cells.join(' | '))
    for (const warning of warnings) console.log(`    ${warning.slice(0, 150)}`)
  } catch (error) {
    console.log(`${name} | ${error instanceof Error ? error.message : error} | ${wanted.length}`)
  }
}

/** Returns all characters in reading order, including headers and footers. */
function drawnText(bytes: Uint8Array): string {
  const file = PdfFile.open(pdfium, bytes)
  try {
    const lines: string[] = []
    for (let index = 0; index < file.pageCount; index += 1) {
      try {
        for (const pieces of pagePieces(pageDrawing(file, index)).directions) {
          for (const region of readingOrder(pieces)) {
            for (const line of region.lines) lines.push(line.table?.flat().join(' ') ?? line.text)
          }
        }
      } catch {
        // The reader reports the error.
      }
    }
    return lines.join('\n')
  } finally {
    file.close()
  }
}

async function pdftotext(path: string): Promise<string> {
  const child = Bun.spawn(['pdftotext', '-enc', 'UTF-8', path, '-'], { stderr: 'ignore' })
  return new Response(child.stdout).text()
}

type Bag = ReadonlyMap<string, number>

/** Decomposes the text first, because a letter and its mark may be one character or two. */
function bagOf(text: string): Bag {
  return counted(text.normalize('NFKD').replace(/[\s\p{C}\u00ad-]/gu, ''))
}

function triplesOf(text: string): Bag {
  const joined = text.normalize('NFKC').replace(/[-\u00ad\u2010]\s*\n\s*/g, '')
  const words = joined.toLowerCase().match(/[\u3040-\u9fff]|[\p{L}\p{N}]+/gu) ?? []
  return counted(words.slice(2).map((word, index) => `${words[index]} ${words[index + 1]} ${word}`))
}

function counted(values: Iterable<string>): Map<string, number> {
  const bag = new Map<string, number>()
  for (const value of values) bag.set(value, (bag.get(value) ?? 0) + 1)
  return bag
}

/** Returns the percentage of the first bag that is missing in the second. */
function share(bag: Bag, other: Bag): number {
  let missing = 0
  for (const [value, count] of bag) missing += Math.max(0, count - (other.get(value) ?? 0))
  return (100 * missing) / (total(bag) || 1)
}

function total(bag: Bag): number {
  let sum = 0
  for (const count of bag.values()) sum += count
  return sum
}
