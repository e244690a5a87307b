/** Creates texts of real English words, the same on every run, by a seeded generator from READMEs. */
import { join } from 'node:path'
import { readmeFiles } from '../scripts/readme-files.ts'

export interface SampleTexts {
  /** Returns the text with this index, with `wordCount` words and a full stop after each tenth. */
  text(index: number, wordCount: number): string
}

const ROOT = join(import.meta.dir, '..')

let known: Promise<SampleTexts> | null = null

export function sampleTexts(): Promise<SampleTexts> {
  known ??= readTexts()
  return known
}

async function readTexts(): Promise<SampleTexts> {
  const limits = { filesMax: 100, charsMax: 20_000 }
  const readmes = await readmeFiles(join(ROOT, 'node_modules'), limits)
  const words = readmes.flatMap((readme) => readme.text.match(/\b[a-z]{2,14}\b/gi) ?? [])
  if (words.length === 0) throw new Error('No READMEs in node_modules to draw words from')
  return { text: (index, wordCount) => sentence(words, index, wordCount) }
}

function sentence(words: readonly string[], seed: number, wordCount: number): string {
  const random = seededRandom(seed)
  const drawn = Array.from({ length: wordCount }, (_, at) => {
    const word = words[Math.floor(random() * words.length)] ?? ''
    return at % 10 === 9 ? `${word}.` : word
  })
  return drawn.join(' ')
}

/** mulberry32 returns 0 ≤ value < 1, in the same sequence for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = (seed + 0x9e3779b9) | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
