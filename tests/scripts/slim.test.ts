/** Runs `npm run slim` on folders created here. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SCRIPT = join(import.meta.dir, '../../scripts/slim.mjs')
const OWN = `onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}`
const OTHER = 'onnxruntime-node/bin/napi-v6/plan9/mips'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'eider-slim-'))
  const devDependencies = { typescript: '1', '@types/bun': '1', '@biomejs/biome': '1' }
  writeFileSync(join(root, 'package.json'), JSON.stringify({ devDependencies }))
  for (const folder of [OWN, OTHER, 'typescript', '@types/node', 'elysia']) put(folder)
})
afterEach(() => rmSync(root, { recursive: true }))

function put(folder: string): void {
  const path = join(root, 'node_modules', folder)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'file'), 'x'.repeat(3_000_000))
}

function has(folder: string): boolean {
  return existsSync(join(root, 'node_modules', folder))
}

async function slim(...options: readonly string[]) {
  const run = Bun.spawn([process.execPath, SCRIPT, root, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = await new Response(run.stdout).text()
  return { code: await run.exited, text, message: await new Response(run.stderr).text() }
}

test('removes what this system never reads, and says what it saves', async () => {
  const { code, text } = await slim()
  expect(code).toBe(0)
  expect(text).toContain('9 MB  saved')
  expect([OWN, 'elysia'].map(has)).toEqual([true, true])
  expect([OTHER, 'typescript', '@types'].map(has)).toEqual([false, false, false])
  expect((await slim()).text).toContain('0 MB  saved')
})

test('keeps what development needs where that is installed', async () => {
  put('@biomejs/biome')
  const { text } = await slim()
  expect(text).toContain('Development packages stay (@biomejs/biome)')
  expect([OTHER, 'typescript', '@types'].map(has)).toEqual([false, true, true])
})

test('only tells with --dry-run', async () => {
  expect((await slim('--dry-run')).text).toContain('9 MB  would be saved')
  expect([OTHER, 'typescript'].map(has)).toEqual([true, true])
})

test('leaves the files of all systems where there are none for this one', async () => {
  rmSync(join(root, 'node_modules', OWN), { recursive: true })
  await slim()
  expect(has(OTHER)).toBe(true)
})

test('removes source maps, and unused builds of some packages', async () => {
  for (const folder of ['js-tiktoken/dist/ranks', 'openai/src', 'openai/lib']) put(folder)
  const ranks = join(root, 'node_modules/js-tiktoken/dist/ranks')
  for (const name of ['cl100k_base.js', 'gpt2.js', 'gpt2.d.ts'])
    writeFileSync(join(ranks, name), '')
  writeFileSync(join(root, 'node_modules/openai/lib/index.js.map'), '')
  writeFileSync(join(root, 'node_modules/openai/src/index.ts.map'), '')
  await slim()
  const kept = ['cl100k_base.js', 'gpt2.d.ts'].map((name) => `js-tiktoken/dist/ranks/${name}`)
  expect([...kept, 'openai/lib/file'].map(has)).toEqual([true, true, true])
  const gone = ['js-tiktoken/dist/ranks/gpt2.js', 'openai/src', 'openai/lib/index.js.map']
  expect(gone.map(has)).toEqual([false, false, false])
})

test('does not follow links, and says where nothing is installed', async () => {
  const elsewhere = join(root, 'elsewhere')
  mkdirSync(elsewhere)
  rmSync(join(root, 'node_modules/typescript'), { recursive: true })
  symlinkSync(elsewhere, join(root, 'node_modules/typescript'))
  await slim()
  expect(existsSync(elsewhere) && has('typescript')).toBe(true)
  rmSync(join(root, 'node_modules'), { recursive: true })
  const { code, message } = await slim()
  expect(code).toBe(1)
  expect(message).toContain('npm ci --omit=dev')
})
