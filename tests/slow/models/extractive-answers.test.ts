import { afterAll, beforeAll, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { BuiltinEmbedder } from '../../../src/models/builtin/builtin-embedder.ts'
import { writtenAnswer } from '../../../src/models/builtin/chat/extractive-answer.ts'
import { keywords } from '../../../src/models/builtin/chat/keywords.ts'
import { rankedUnits } from '../../../src/models/builtin/chat/unit-ranking.ts'

/**
 * Real text that every checkout has: the READMEs of some dependencies, split into chunks like an
 * insert would.
 */
const PACKAGES = [
  'openai',
  'elysia',
  'drizzle-orm',
  'turndown',
  'robots-parser',
  'ipaddr.js',
  'linkedom',
  '@embedpdf/pdfium',
  'cli-progress',
  '@mozilla/readability',
  'onnxruntime-node',
  'fast-check',
]
const README_CHARS_MAX = 16_000
const CHUNK_CHARS = 1000
const STEP_CHARS = 800

interface Chunk {
  readonly id: string
  readonly text: string
  readonly vector: Float32Array
}

const NOWHERE = { documentId: '', heading: '', pages: null, place: null }

const embedder = new BuiltinEmbedder()
const embed = embedder.embed.bind(embedder)
const never = new AbortController().signal
const chunks: Chunk[] = []

beforeAll(async () => {
  const texts: { id: string; text: string }[] = []
  for (const name of PACKAGES) {
    const path = new URL(`../../../node_modules/${name}/README.md`, import.meta.url)
    const readme = (await Bun.file(fileURLToPath(path)).text()).slice(0, README_CHARS_MAX)
    for (let start = 0; start < readme.length; start += STEP_CHARS) {
      texts.push({ id: `${name}:${start}`, text: readme.slice(start, start + CHUNK_CHARS) })
    }
  }
  const vectors = await embedder.embed(
    texts.map(({ text }) => text),
    never,
  )
  for (const [index, { id, text }] of texts.entries()) {
    chunks.push({ id, text, vector: vectors[index] ?? new Float32Array(384) })
  }
}, 120_000)
afterAll(() => embedder.close())

/** The chunks of a README overlap, so that text split by a chunk's end is read as a whole. */
function placed({ id, text }: Chunk) {
  const [documentId = '', at = ''] = id.split(/:(?=\d+$)/)
  const start = Number(at)
  const place = { column: 'content', number: 1 + start / STEP_CHARS, total: 99 }
  const span = { start, end: start + text.length }
  return { ...NOWHERE, documentId, chunkId: id, text, place: { ...place, ...span } }
}

/**
 * The keyword part of a search's relevance: the BM25 score of a text, divided by a bound that no
 * text reaches.
 */
function wordShares(question: string): (text: string) => number {
  const asked = [...new Set(keywords(question))]
  const held = chunks.map(({ text }) => new Set(keywords(text)))
  const idf = asked.map((word) => {
    const holders = held.filter((words) => words.has(word)).length
    return Math.log(1 + (chunks.length - holders + 0.5) / (holders + 0.5))
  })
  const bound = idf.reduce((sum, value) => sum + value, 0) || 1
  return (text) => {
    const words = keywords(text)
    const parts = asked.map((word, index) => {
      const count = words.filter((one) => one === word).length
      return ((idf[index] ?? 0) * count) / (count + 1.2)
    })
    return parts.reduce((sum, part) => sum + part, 0) / bound
  }
}

async function answerTo(question: string): Promise<string> {
  const [vector] = await embedder.embed([question], never)
  const shareOf = wordShares(question)
  const near = chunks.map((chunk) => {
    const cosine = chunk.vector.reduce(
      (sum, value, index) => sum + value * (vector?.[index] ?? 0),
      0,
    )
    const relevance = (Math.max(0, cosine) + shareOf(chunk.text)) / 2
    return { ...placed(chunk), relevance }
  })
  const passages = near.sort((a, b) => b.relevance - a.relevance).slice(0, 8)
  const ranking = await rankedUnits(question, passages, embed, never)
  const names = ['mindsdb.readmes']
  const found = { question, passages, ranking, names, searched: names, failures: [], documents: [] }
  return writtenAnswer(found).text
}

test.each([
  ['How do I change the number of retries of the OpenAI client?', 'maxRetries'],
  ['How do I keep a code block when converting HTML to Markdown?', 'Keep rules'],
  ['How do I check whether an IP address is in a range?', 'range'],
  ['Which engine powers PDF viewing in Chrome?', 'the same engine that powers'],
  ['How do I get the readable article from a web page?', 'new Readability(document).parse()'],
  ['What is property based testing?', 'check the truthfulness of properties'],
  ['Is linkedom as fast as jsdom?', 'JSDOM'],
  ['timeouts in openai', 'timeout'],
  ['What license does turndown have?', 'released under the MIT license'],
  ['How to parse an IPv6 address?', 'IPv6'],
  ['How do I handle API errors?', 'APIError'],
  ['how to initialize the PDFium library', 'PDFiumExt_Init'],
  ['multibar progress', 'MultiBar'],
])('answers "%s" with a sentence that holds "%s"', async (question, expected) => {
  const answer = await answerTo(question)
  expect(answer).toContain(expected)
  expect(answer).toMatch(/^— .*\[[^\]]+:\d+\]$/m)
})

test.each([
  'What is the capital of Mongolia?',
  'How do I bake sourdough bread?',
  'Who won the football world cup in 1998?',
  'How many moons does Jupiter have?',
  'What are the side effects of ibuprofen?',
  'When was the French Revolution?',
  'How do I train a puppy to sit?',
  'What is our parental leave policy?',
  'How much did revenue grow in the third quarter?',
  'Which hotel is near the airport?',
  'How tall is the Eiffel Tower?',
  'Can I return my shoes after 30 days?',
  'best way to invest in bonds',
  'What does our warranty cover for water damage?',
  'Who is the head of the finance department?',
])('finds nothing relevant to "%s"', async (question) => {
  const answer = await answerTo(question)
  expect(answer).toStartWith('I found nothing relevant to this question in mindsdb.readmes')
})

test('a question takes little of a core once its passages are there', async () => {
  const passages = chunks.slice(0, 8).map((chunk) => {
    return { ...placed(chunk), relevance: 0.5 }
  })
  const times: number[] = []
  for (let round = 0; round < 9; round += 1) {
    const started = process.cpuUsage()
    await rankedUnits(`How do I set option number ${round} of the client?`, passages, embed, never)
    times.push(cpuMsSince(started))
  }
  // It takes 60 to 150 ms of a core. Other work on the machine affects this less than elapsed time.
  expect(times.sort((a, b) => a - b)[4]).toBeLessThan(400)
})

function cpuMsSince(started: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}

test('chunks of 100 words are embedded at a rate that fills a knowledge base in time', async () => {
  const words = chunks.flatMap(({ text }) => text.match(/[a-z]{3,9}/g) ?? [])
  const texts = Array.from({ length: 64 }, (_, index) => {
    return words.slice(index * 90, index * 90 + 100).join(' ')
  })
  const started = process.cpuUsage()
  await embedder.embed(texts, never)
  const perSecond = 64_000 / cpuMsSince(started)
  // It answers 28 or more questions per second on a core without other work.
  expect(perSecond).toBeGreaterThan(12)
})
