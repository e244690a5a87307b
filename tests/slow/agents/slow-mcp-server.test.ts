import { expect, test } from 'bun:test'
import { askScripted, calls, says } from '../../agents/ask-scripted.ts'
import { ECHO, handMadeServer, servedBy, textResult } from '../../agents/mcp/mcp-fixture.ts'
import { createTestApp } from '../../support/test-app.ts'

test('a server that never answers is a warning, once waited for, and the others are used', async () => {
  const app = await createTestApp()
  const silent = servedBy(() => new Promise<Response>(() => {}))
  const server = handMadeServer((_, message) => textResult(message, 'ok'), [ECHO])
  try {
    const mcp = [
      { name: 'silent', url: silent.url, tools: ['*'] },
      { name: 'odd', url: server.url, tools: ['*'] },
    ]
    const turns = [calls('odd__echo', {}), says('Done.')]
    const first = await askScripted(app, { data: { mcp }, turns })
    const second = await askScripted(app, { data: { mcp }, turns })
    for (const { seen, warnings } of [first, second]) {
      expect(seen).toEqual(['ok'])
      expect(warnings.join()).toContain('did not answer within 5 s')
    }
    // The client may also cancel the call.
    expect(silent.requests.filter(({ method }) => method === 'initialize').length).toBe(1)
    // The tools of the other server were also listed once.
    expect(server.requests.filter(({ method }) => method === 'tools/list').length).toBe(1)
  } finally {
    silent.close()
    server.close()
    await app.close()
  }
})
