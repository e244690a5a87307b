/**
 * `bun bench/quality/main.ts <folder> [--mode vector,keyword,hybrid,0.3] [--limit n] [--title
 * text]` measures how well a server with the built-in model finds what people judged relevant. The
 * folder contains a collection in the layout of BEIR; `--limit` asks only the first n questions.
 */
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { textTable } from '../../scripts/text-table.ts'
import { type Bench, PROJECT, withServer } from '../scenario.ts'
import {
  type BeirCollection,
  type BeirDocument,
  beirCollection,
  TITLE_PLACES,
  type TitlePlace,
} from './beir-collection.ts'
import { DEEP, KNOWLEDGE_BASE, measuredMode } from './measured-mode.ts'
import { DEFAULT_MODES, type SearchMode, searchModes } from './search-mode.ts'

/** The number of documents in one insert. */
const ROWS_PER_INSERT = 200

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error))
  return 1
})

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      mode: { type: 'string', default: DEFAULT_MODES },
      limit: { type: 'string', default: 'Infinity' },
      title: { type: 'string', default: 'text' },
    },
    allowPositionals: true,
  })
  const [folder] = positionals
  const limit = Number(values.limit)
  const place = TITLE_PLACES.find((one) => one === values.title)
  if (folder === undefined || positionals.length > 1 || !(limit >= 1) || place === undefined) {
    const places = TITLE_PLACES.join('|')
    console.error(`bun bench/quality/main.ts <folder> [--mode a,b] [--limit n] [--title ${places}]`)
    return 2
  }
  const modes = searchModes(values.mode)
  const all = await beirCollection(folder, place)
  const collection = { ...all, questions: all.questions.slice(0, limit) }
  const sizes = `${collection.documents.length} documents, ${collection.questions.length} questions`
  console.log(`${basename(resolve(folder))}: ${sizes}`)
  if (collection.questions.length === 0) throw new Error('No question has judgments')
  return withServer({}, (bench) => measured(bench, { collection, place }, modes))
}

async function measured(
  bench: Bench,
  { collection, place }: { readonly collection: BeirCollection; readonly place: TitlePlace },
  modes: readonly SearchMode[],
): Promise<number> {
  await fill(bench, collection.documents, place)
  const rows: (readonly unknown[])[] = []
  const refusals: string[] = []
  for (const mode of modes) {
    try {
      const { near, deep, p50Ms } = await measuredMode(bench.client, mode, collection.questions)
      const quality = [near.ndcg, near.recall, deep.recall, near.reciprocalRank]
      rows.push([mode.name, ...quality.map((value) => value.toFixed(3)), p50Ms.toFixed(1)])
    } catch (error) {
      refusals.push(`  ${mode.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const names = ['mode', 'nDCG@10', 'recall@10', 'recall@100', 'MRR@10', 'p50 ms']
  console.log(textTable(names, rows))
  console.log(`  p50: one search for ${DEEP} documents over HTTP, one client`)
  if (refusals.length > 0) console.log(['Not measured:', ...refusals].join('\n'))
  return rows.length > 0 ? 0 : 1
}

async function fill(
  { client }: Bench,
  documents: readonly BeirDocument[],
  place: TitlePlace,
): Promise<void> {
  await client.request('POST', `${PROJECT}/knowledge_bases`, {
    knowledge_base: { name: KNOWLEDGE_BASE, content_columns: ['content'], id_column: 'id' },
  })
  const path = `${PROJECT}/knowledge_bases/${KNOWLEDGE_BASE}`
  const startedAt = performance.now()
  for (let from = 0; from < documents.length; from += ROWS_PER_INSERT) {
    const rows = documents.slice(from, from + ROWS_PER_INSERT).map(({ id, content, title }) => {
      if (place !== 'apart' && place !== 'heading') return { id, content }
      return { id, content, title, layout: { syntax: place === 'apart' ? 'text' : 'markdown' } }
    })
    await client.request('PUT', path, { knowledge_base: { rows } })
  }
  const seconds = (performance.now() - startedAt) / 1000
  const stored = await client.sql(`SELECT count(DISTINCT id), count(*) FROM ${KNOWLEDGE_BASE}`)
  const [documentCount, chunkCount] = stored.rows[0] ?? []
  const expected = new Set(documents.filter(hasText).map(({ id }) => id)).size
  if (Number(documentCount) !== expected) {
    throw new Error(`${expected} documents were inserted and ${documentCount} are stored`)
  }
  console.log(`  ${chunkCount} chunks, embedded and stored in ${seconds.toFixed(0)} s`)
}

/** A document without text has no chunk. */
function hasText({ content }: BeirDocument): boolean {
  return content.trim() !== ''
}
