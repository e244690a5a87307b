/**
 * Compares the text read from each file with what another program reads from it: `bun
 * scripts/compare-words.ts <folder or file> …`. Needs pandoc for DOCX, ODT, EPUB and RTF; PPTX and
 * ODP are compared with the text in their XML. Prints one line per file: the number of words,
 * missing and added ones, and the first of each.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isDocumentFormat } from '../src/core/domain/uploaded-file.ts'
import { fileFormat } from '../src/reading/file-format.ts'
import { readDocuments } from '../src/reading/processes/read-file.ts'
import { descendants, parseXml, textOf } from '../src/reading/xml-tree.ts'
import { zipEntries } from '../src/reading/zip-file.ts'

const PANDOC: Readonly<Record<string, string>> = {
  docx: 'docx',
  odt: 'odt',
  epub: 'epub',
  rtf: 'rtf',
  ipynb: 'ipynb',
}

function filesIn(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path).flatMap((name) => filesIn(join(path, name)))
}

/** Returns the text that another program reads, or null if none reads this format. */
function otherText(path: string, format: string, bytes: Uint8Array): string | null {
  if (format === 'pptx') return xmlText(bytes, /^ppt\/(slides|notesSlides)\/[^/]+\.xml$/, 'p')
  if (format === 'odp') return xmlText(bytes, /^content\.xml$/, 'p')
  const from = PANDOC[format]
  if (from === undefined) return null
  const args = ['-f', from, '-t', 'plain', '--wrap=none', '--track-changes=accept', path]
  const done = spawnSync('pandoc', args, { encoding: 'utf8', maxBuffer: 1e9, timeout: 120_000 })
  return done.status === 0 ? done.stdout : null
}

function xmlText(bytes: Uint8Array, wanted: RegExp, paragraph: string): string {
  const parts = zipEntries(bytes, (name) => wanted.test(name)).values()
  return [...parts]
    .flatMap((part) => [...descendants(parseXml(part), paragraph)].map(textOf))
    .join('\n')
}

function wordsOf(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [word] of text.normalize('NFKC').matchAll(/[\p{L}\p{N}]+/gu)) {
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return counts
}

function without(words: Map<string, number>, others: Map<string, number>): readonly string[] {
  return [...words].flatMap(([word, count]) => {
    const more = count - (others.get(word) ?? 0)
    return more > 0 ? Array.from({ length: more }, () => word) : []
  })
}

const sum = { files: 0, words: 0, missing: 0, added: 0 }
for (const path of process.argv.slice(2).flatMap(filesIn)) {
  const bytes = readFileSync(path)
  const name = basename(path)
  try {
    const format = fileFormat(name, bytes)
    if (!isDocumentFormat(format)) continue
    const other = otherText(path, format, bytes)
    if (other === null) continue
    let own = ''
    const notes = { recognize: () => {}, warn: () => {} }
    const raw = { bytes, format, name, charset: null, url: null }
    for await (const read of readDocuments(raw, notes)) own += `${read.content}\n`
    const [theirs, ours] = [wordsOf(other), wordsOf(own)]
    const [missing, added] = [without(theirs, ours), without(ours, theirs)]
    const words = [...theirs.values()].reduce((total, count) => total + count, 0)
    sum.files += 1
    sum.words += words
    sum.missing += missing.length
    sum.added += added.length
    console.log(`${words}\t-${missing.length}\t+${added.length}\t${path}`)
    if (missing.length > 0) console.log(`\t\tmissing: ${missing.slice(0, 25).join(' ')}`)
    if (added.length > 0) console.log(`\t\tadded: ${added.slice(0, 25).join(' ')}`)
  } catch (error) {
    console.log(`ERROR\t${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
console.log(JSON.stringify(sum))
