/**
 * `bun scripts/data-folder.ts <version> [checkout]` makes a small data folder, filled by the server of a checkout and
 * packed as one file with that server's answers. Tests of upgrades open the folders of all releases with today's server.
 */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startServer, whileRunning } from './server-process.ts'

const ROOT = join(import.meta.dir, '..')
export const FOLDERS = join(ROOT, 'tests/slow/upgrade/folders')

export interface PackedFolder {
  /** The content of each path in base64. */
  readonly files: Readonly<Record<string, string>>
  /** What the server that filled it answered to each statement. */
  readonly answers: readonly { readonly query: string; readonly data: unknown }[]
}

const KBS = '/api/projects/mindsdb/knowledge_bases'
const ROWS = [
  { id: 1, content: 'Sencha is a Japanese green tea with a grassy taste', price: 9 },
  { id: 2, content: 'Assam is a strong black tea from India, drunk with milk', price: 6 },
  {
    id: 3,
    content: 'Rooibos is a red herbal infusion from South Africa without caffeine',
    price: 5,
  },
]

/** An older server may refuse some of these calls. They are then left out. */
const CALLS: readonly (readonly [method: string, path: string, body: object])[] = [
  ['POST', KBS, { knowledge_base: { name: 'teas' } }],
  ['PUT', `${KBS}/teas`, { knowledge_base: { rows: ROWS } }],
  ['POST', KBS, { knowledge_base: { name: 'empty', metadata_columns: ['price'] } }],
  sql(
    "CREATE TABLE orders AS SELECT * FROM (VALUES (1, 'Ann', 2.5), (2, 'Bob', 4)) t(id, who, paid)",
  ),
  sql('CREATE VIEW cheap AS SELECT id, price FROM teas WHERE price < 9'),
  sql("CREATE JOB nightly (SELECT 1) START '2099-01-01 00:00:00' EVERY 1 day"),
  [
    ...(['POST', '/api/projects/mindsdb/agents'] as const),
    { agent: { name: 'sommelier', data: { knowledge_bases: ['mindsdb.teas'] } } },
  ],
  [
    ...(['POST', '/api/projects/mindsdb/agents/sommelier/completions'] as const),
    { messages: [{ question: 'Which tea has no caffeine?', answer: '' }] },
  ],
]

const QUERIES = [
  'SELECT id, chunk_content, price FROM teas ORDER BY id',
  "SELECT id FROM teas WHERE content = 'for the evening, without caffeine' LIMIT 1",
  "SELECT id FROM teas WHERE content = 'milk' AND hybrid_search = true LIMIT 1",
  'SELECT count(*) FROM empty',
  'SELECT * FROM orders ORDER BY id',
  'SELECT * FROM cheap ORDER BY id',
  'SELECT * FROM files.cities ORDER BY city',
]

function sql(query: string): readonly [string, string, object] {
  return ['POST', '/api/sql/query', { query }]
}

/** @param checkout the checkout whose server fills the folder @returns the packed file */
export async function packDataFolder(name: string, checkout: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'eider-folder-'))
  try {
    const dataDirectory = join(folder, 'data')
    const environment = { EIDER_LOG_LEVEL: 'error' }
    const server = await startServer({ dataDirectory, environment, root: checkout })
    const answers = await whileRunning(server, () => filled(server.baseUrl))
    const packed: PackedFolder = { files: await filesIn(dataDirectory), answers }
    const path = join(FOLDERS, `${name}.zst`)
    await writeFile(path, Bun.zstdCompressSync(JSON.stringify(packed), { level: 19 }))
    return path
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function filled(url: string): Promise<PackedFolder['answers']> {
  const form = new FormData()
  form.set('file', new File(['city,people\nKyoto,1463000\nUji,179000\n'], 'cities.csv'))
  await fetch(`${url}/api/files/cities`, { method: 'PUT', body: form })
  for (const [method, path, body] of CALLS) {
    const { status, value } = await call(url, method, path, body)
    const failed = status >= 400 || Object(value).type === 'error'
    if (failed) console.warn(`left out: ${method} ${path} ${JSON.stringify(value).slice(0, 200)}`)
  }
  const answers: { query: string; data: unknown }[] = []
  for (const query of QUERIES) {
    const { value } = await call(url, ...sql(query))
    const { data } = Object(value)
    if (data === undefined) console.warn(`left out: ${query}: ${Object(value).error_message}`)
    else answers.push({ query, data })
  }
  return answers
}

async function call(url: string, method: string, path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })
  const text = await answer.text()
  return { status: answer.status, value: text === '' ? null : (JSON.parse(text) as unknown) }
}

/** Reads the files of a stopped server, except those that a start makes again: lock and vectors. */
async function filesIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {}
  for (const path of (await readdir(folder, { recursive: true })).sort()) {
    if (/^(eider\.lock|derived\b)/.test(path)) continue
    if (!(await stat(join(folder, path))).isFile()) continue
    files[path.replaceAll('\\', '/')] = (await readFile(join(folder, path))).toString('base64')
  }
  return files
}

if (import.meta.main) {
  const [name = 'unnamed', checkout = ROOT] = process.argv.slice(2)
  console.log(await packDataFolder(name, resolve(checkout)))
}
