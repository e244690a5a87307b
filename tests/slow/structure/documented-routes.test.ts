import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, whileRunning } from '../../../scripts/server-process.ts'
import { type OpenApiPaths, routesOf, undocumentedRoutes } from '../../structure/documentation.ts'

async function servedOpenApi(): Promise<OpenApiPaths> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'eider-routes-'))
  try {
    const server = await startServer({ dataDirectory })
    return await whileRunning(server, async () => {
      return (await fetch(`${server.baseUrl}/openapi.json`)).json()
    })
  } finally {
    await rm(dataDirectory, { recursive: true, force: true })
  }
}

test('docs/http.md names every route that the server describes', async () => {
  const routes = routesOf(await servedOpenApi())
  expect(routes).toContain('POST /api/sql/query')
  const page = await Bun.file(join(import.meta.dir, '../../../docs/http.md')).text()
  expect(undocumentedRoutes(routes, page)).toEqual([])
})
