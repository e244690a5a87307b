/**
 * The examples of docs/mcp.md: sends the call to the product in memory, and parses the settings
 * files as JSON.
 */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp } from '../../support/test-app.ts'

const page = await Bun.file(join(import.meta.dir, '../../../docs/mcp.md')).text()

function blocksOf(language: string): readonly string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm')
  return [...page.matchAll(fence)].map(([, block = '']) => block)
}

test('its call is answered', async () => {
  const app = await createTestApp()
  const curl = blocksOf('sh').find((block) => block.startsWith('curl')) ?? ''
  const [, path = ''] = /curl http:\/\/127\.0\.0\.1:47334(\S+)/.exec(curl) ?? []
  const [, sent = ''] = /-d '(.*)'/.exec(curl) ?? []
  const headers = Object.fromEntries(
    [...curl.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]),
  )
  const { status, text } = await app.send('POST', path, sent, headers)
  expect(status).toBe(200)
  expect(text).toContain('"items":[],"total":0')
  await app.close()
})

test('its files of settings are JSON that names the server and its tools', () => {
  const files = blocksOf('json').map((block) => JSON.parse(block))
  expect(files).toHaveLength(4)
  for (const file of files) expect(JSON.stringify(file)).toMatch(/\/mcp"|"mcp"/)
})

test('its table names every tool with its arguments', async () => {
  const app = await createTestApp()
  const headers = { accept: 'application/json, text/event-stream' }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const { text } = await app.send('POST', '/mcp', body, headers)
  const [, json = ''] = /^data: (.*)$/m.exec(text) ?? []
  const { tools } = JSON.parse(json).result as {
    tools: { name: string; inputSchema: { properties: object } }[]
  }
  expect(tools.length).toBeGreaterThan(0)
  for (const { name, inputSchema } of tools) {
    const line = page.split('\n').find((one) => one.startsWith(`| \`${name}\` |`)) ?? ''
    for (const argument of Object.keys(inputSchema.properties)) {
      expect(line).toContain(`\`${argument}\``)
    }
  }
  await app.close()
})
