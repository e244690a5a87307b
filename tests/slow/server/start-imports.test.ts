/**
 * What a start loads before its first answer. Each package that is not needed slows every start
 * down.
 */
import { expect, test } from 'bun:test'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../../..')
const LOADED = `await Promise.all([import('./src/serve.ts'), import('./src/app.ts')])
  console.log(JSON.stringify(Object.keys(require.cache)))`

/** Loaded with the first request that needs it. */
const LATER = [
  'node_modules/@elysiajs/jwt/',
  'node_modules/jose/',
  'node_modules/@modelcontextprotocol/',
  'node_modules/openai/',
  'node_modules/@anthropic-ai/',
  'node_modules/onnxruntime-node/',
  'node_modules/preact/',
  'node_modules/robots-parser/',
  'node_modules/turndown/',
  'node_modules/snowball-stemmers/',
  'src/sql/subquery/rewrite.ts',
  'src/query/run/run-query.ts',
  'src/ingest/pipeline/insert.ts',
  'src/ui/page.tsx',
]

test('the first answer needs the database and the server alone', async () => {
  const loading = Bun.spawn([process.execPath, '-e', LOADED], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const text = await new Response(loading.stdout).text()
  const paths = (JSON.parse(text) as string[]).map((path) => path.replaceAll('\\', '/'))
  expect(paths.some((path) => path.includes('node_modules/elysia/'))).toBe(true)
  expect(paths.some((path) => path.endsWith('src/app.ts'))).toBe(true)
  expect(LATER.filter((later) => paths.some((path) => path.includes(later)))).toEqual([])
})
