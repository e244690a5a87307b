/**
 * Shows the main features over the public HTTP API with real input: READMEs are added, searched three times in SQL, and an
 * agent is asked two questions. It prints what the server answers. The data stays in `demo-data/` for further use. With
 * `--data-only <folder>` it only creates the data in that folder; a number after it limits the documents.
 */
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { SingleBar } from 'cli-progress'
import packageJson from '../package.json' with { type: 'json' }
import { type AgentEvent, type EiderClient, eiderClient } from './eider-client.ts'
import { type ReadmeFile, readmeFiles } from './readme-files.ts'
import { startServer, whileRunning } from './server-process.ts'
import { textTable } from './text-table.ts'

const ROOT = join(import.meta.dir, '..')
const DATA_ONLY = '--data-only'
const [option, folder, documents] = process.argv.slice(2)
const isDataOnly = option === DATA_ONLY
const DATA_DIRECTORY = isDataOnly && folder ? resolve(folder) : join(ROOT, 'demo-data')
const PROJECT = '/projects/mindsdb'

/** About 600 chunks of 1000 characters, which take about twenty seconds to embed on two cores. */
const README_LIMITS = { filesMax: Number(documents ?? 150), charsMax: 12_000 }
const DOCUMENTS_PER_INSERT = 4
/** On a slow or busy machine, the demo uses fewer documents instead of taking longer. */
const INSERT_MS_MAX = 35_000
const OBSERVATION_LINES_MAX = 6

const QUERIES: readonly { readonly title: string; readonly sql: string }[] = [
  {
    title: 'Nearest passages to a thought',
    sql: `SELECT id, relevance, chunk_content FROM readmes
WHERE content = 'turn a web page into Markdown' LIMIT 4`,
  },
  {
    title: 'The same with a filter on metadata: it is applied before the limit',
    sql: `SELECT id, size_chars, relevance, chunk_content FROM readmes
WHERE content = 'fast logging to a file' AND license = 'MIT' AND size_chars < 8000 LIMIT 4`,
  },
  {
    title: 'A search inside a CTE, then plain analytics over it',
    sql: `WITH found AS (
  SELECT id, license, relevance FROM readmes
  WHERE content = 'parsing text safely' ORDER BY relevance DESC LIMIT 60
)
SELECT license, count(DISTINCT id) AS packages, count(*) AS chunks, max(relevance) AS best
FROM found GROUP BY license ORDER BY chunks DESC, license LIMIT 5`,
  },
]

const QUESTIONS: readonly string[] = [
  'How do I check whether robots.txt allows a URL to be crawled?',
  'Can postal-mime run in a web browser?',
]

/** The searches and questions are about these, so they are read first on any machine. */
const NEEDED = ['robots-parser', 'pino', 'turndown', 'postal-mime', 'yaml']

try {
  await demo()
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}

async function demo(): Promise<void> {
  const startedAt = performance.now()
  await rm(DATA_DIRECTORY, { recursive: true, force: true })
  const first = [...NEEDED, ...Object.keys(packageJson.dependencies)]
  const limits = { ...README_LIMITS, first }
  const readmes = await readmeFiles(join(ROOT, 'node_modules'), limits)
  if (readmes.length === 0) throw new Error('No READMEs in node_modules: run npm install first')
  const starting = startServer({ dataDirectory: DATA_DIRECTORY })
  const stopAtOnce = () => {
    void starting.then((server) => server.stop()).finally(() => process.exit(130))
  }
  process.on('SIGINT', stopAtOnce)
  const server = await starting
  await whileRunning(server, async () => {
    if (!isDataOnly) {
      console.log(`Eider is ready at ${server.baseUrl} after ${seconds(server.startMs)}`)
    }
    const client = eiderClient(server.baseUrl)
    await insertReadmes(client, readmes)
    if (isDataOnly) return
    for (const query of QUERIES) await showQuery(client, query)
    await askQuestions(client)
  })
  if (isDataOnly) return
  console.log(`\nAll of it took ${seconds(performance.now() - startedAt)}.`)
  console.log('Go on with this data:  npm start -- --demo')
}

async function insertReadmes(client: EiderClient, readmes: readonly ReadmeFile[]): Promise<void> {
  await client.request('POST', `${PROJECT}/knowledge_bases`, {
    knowledge_base: {
      name: 'readmes',
      content_columns: ['content'],
      metadata_columns: ['version', 'license', 'size_chars'],
      id_column: 'id',
    },
  })
  const limit = README_LIMITS.charsMax.toLocaleString('en')
  console.log(`\nInserting ${readmes.length} READMEs (the first ${limit} characters of each)`)
  const startedAt = performance.now()
  const progress = progressBar(readmes.length)
  let inserted = 0
  while (inserted < readmes.length && performance.now() - startedAt < INSERT_MS_MAX) {
    const batch = readmes.slice(inserted, inserted + DOCUMENTS_PER_INSERT)
    await client.request('PUT', `${PROJECT}/knowledge_bases/readmes`, {
      knowledge_base: { rows: batch.map(rowOf) },
    })
    inserted += batch.length
    progress.advanceTo(inserted)
  }
  progress.stop()
  if (inserted < readmes.length) {
    const limit = `${INSERT_MS_MAX / 1000} s`
    console.log(`This machine is slow or busy: after ${limit}, ${inserted} of them are stored.`)
    console.log('The answers below come from these alone.')
  }
  const elapsedMs = performance.now() - startedAt
  const [row] = (await client.sql('SELECT count(*) AS chunks FROM readmes')).rows
  const chunks = Number(row?.[0])
  const rate = (chunks / (elapsedMs / 1000)).toFixed(0)
  console.log(`${chunks} chunks embedded and stored in ${seconds(elapsedMs)}, ${rate} per second`)
}

function rowOf(readme: ReadmeFile): Record<string, unknown> {
  return {
    id: readme.packageName,
    version: readme.version,
    license: readme.license,
    size_chars: readme.sizeChars,
    content: readme.text,
  }
}

interface Progress {
  advanceTo(count: number): void
  stop(): void
}

/** Shows a progress bar on a terminal, or else one line per fifth, so that logs stay readable. */
function progressBar(total: number): Progress {
  if (process.stderr.isTTY) {
    const bar = new SingleBar({ format: '{bar} {value}/{total} documents, {eta_formatted} left' })
    bar.start(total, 0)
    return { advanceTo: (count) => bar.update(count), stop: () => bar.stop() }
  }
  let shownFifth = 0
  return {
    advanceTo: (count) => {
      const fifth = Math.floor((count * 5) / total)
      if (fifth > shownFifth) console.log(`  ${count}/${total} documents`)
      shownFifth = fifth
    },
    stop: () => {},
  }
}

async function showQuery(client: EiderClient, query: (typeof QUERIES)[number]): Promise<void> {
  console.log(`\n── ${query.title}\n${query.sql}\n`)
  const startedAt = performance.now()
  const { columnNames, rows } = await client.sql(query.sql)
  const elapsedMs = performance.now() - startedAt
  if (rows.length === 0) throw new Error('The query found nothing')
  console.log(textTable(columnNames, rows))
  console.log(`  ${rows.length} rows in ${elapsedMs.toFixed(0)} ms`)
}

async function askQuestions(client: EiderClient): Promise<void> {
  await client.request('POST', `${PROJECT}/agents`, {
    agent: {
      name: 'readme_guide',
      data: { knowledge_bases: ['mindsdb.readmes'] },
      prompt_template: 'The knowledge base readmes holds READMEs of JavaScript packages.',
    },
  })
  for (const question of QUESTIONS) {
    console.log(`\n── Asking the agent: ${question}`)
    const startedAt = performance.now()
    for await (const event of client.ask(`${PROJECT}/agents/readme_guide`, question)) {
      for (const line of eventLines(event)) console.log(`  ${line}`)
      if (event.kind === 'error') throw new Error('The agent did not answer')
    }
    console.log(`  (${(performance.now() - startedAt).toFixed(0)} ms)`)
  }
}

function eventLines(event: AgentEvent): readonly string[] {
  switch (event.kind) {
    case 'start':
      return [`start    trace ${event.traceId}`]
    case 'actions':
      return event.actions.map(({ tool, tool_input }) => `action   ${tool} ${oneLine(tool_input)}`)
    case 'steps':
      return event.steps.flatMap((step) => ['step', ...firstLines(step.observation)])
    case 'output':
      return [`output   with ${event.citationCount} citations`, ...event.output.split('\n')]
    case 'error':
      return [`error    ${event.content}`]
    case 'end':
      return ['end']
  }
}

function firstLines(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const shown = lines.slice(0, OBSERVATION_LINES_MAX).map((line) => `         ${oneLine(line)}`)
  const hidden = lines.length - shown.length
  return hidden > 0 ? [...shown, `         … and ${hidden} lines more`] : shown
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}

function seconds(elapsedMs: number): string {
  return `${(elapsedMs / 1000).toFixed(1)} s`
}
