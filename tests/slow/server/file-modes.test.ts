import { expect, test } from 'bun:test'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startSupervised, withFolder } from './server-process.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const PARQUET = 'application/vnd.apache.parquet'

/** Returns everything in a folder that other users could open, with its mode. */
async function openToOthers(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true })
  const found = await Promise.all(
    names.map(async (name) => {
      // Files removed in the meantime do not count.
      const mode = (await stat(join(folder, name)).catch(() => undefined))?.mode ?? 0
      return (mode & 0o077) === 0 ? [] : [`${name}: ${(mode & 0o777).toString(8)}`]
    }),
  )
  return found.flat()
}

// Windows does not have such modes.
test.skipIf(process.platform === 'win32')('other users cannot open its files', async () => {
  await withFolder(async (folder) => {
    const before = process.umask(0o022)
    const data = join(folder, 'data')
    const server = await startSupervised({ EIDER_DATA_DIR: data })
    process.umask(before)
    await server.send('POST', KBS, { knowledge_base: { name: 'k' } })
    const rows = Array.from({ length: 20 }, (_, id) => ({ id, content: `tea number ${id}` }))
    await server.send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
    const form = new FormData()
    form.set('file', new File(['a,b\n1,2\n'], 'f.csv'))
    await fetch(`${server.url}/api/files/f`, { method: 'PUT', body: form })
    const query = 'SELECT a.range, b.range FROM range(2000) a, range(500) b ORDER BY 2, 1'
    const exported = await server.send('POST', '/api/sql/query', { query }, { accept: PARQUET })
    expect(exported.headers.get('content-type')).toBe(PARQUET)
    await server.send('POST', '/api/backup', {})
    const names = await readdir(data)
    expect(names).toContain('eider-data.duckdb')
    expect(await openToOthers(folder)).toEqual([])
    await exported.body?.cancel()
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    expect(await openToOthers(folder)).toEqual([])
  })
})
