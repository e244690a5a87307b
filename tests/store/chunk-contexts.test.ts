import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { createTestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

test('a folder whose contexts know no layouts gets the column, and keeps its contexts', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'eider-contexts-'))
  try {
    const before = await createTestApp({ directory })
    await before.send('POST', KBS, { knowledge_base: { name: 'k' } })
    await before.send('POST', `${KBS}/k/files`, files('old.md'))
    await before.close()
    await withoutLayouts(join(directory, 'eider-data.duckdb'))
    const after = await createTestApp({ directory })
    await after.send('POST', `${KBS}/k/files`, files('new.md'))
    const preprocessing = {
      type: 'markdown_chunking',
      markdown_chunking_config: { chunk_size: 60 },
    }
    const { body } = await after.send('PUT', `${KBS}/k`, {
      knowledge_base: { preprocessing, rechunk: true },
    })
    const { id } = body as { id: number }
    await after.send('GET', `/api/jobs/${id}/events`)
    expect((await after.send('GET', `/api/jobs/${id}`)).body).toMatchObject({
      state: 'done',
      rows: 2,
      documents: 2,
      errors: [],
    })
    const headings = await after.rows('SELECT DISTINCT id, heading FROM k ORDER BY id, heading')
    expect(headings).toEqual([
      ['new.md', 'Tea > Black'],
      ['new.md', 'Tea > Green'],
      ['old.md', 'Tea > Black'],
      ['old.md', 'Tea > Green'],
    ])
    await after.close()
  } finally {
    await rm(directory, { recursive: true })
  }
})

test('no NULL follows a long layout, which DuckDB would read again for it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'eider-contexts-'))
  try {
    const app = await createTestApp({ directory })
    await app.send('POST', KBS, { knowledge_base: { name: 'k' } })
    const path = `${KBS}/k/documents/long.md`
    expect((await app.send('POST', `${KBS}/k/files`, files('long.md', 60))).status).toBe(200)
    const { body } = await app.send('GET', path)
    expect((body as { content: { content: string } }).content.content).toStartWith('# Tea\n\n## G')
    await app.close()
    const instance = await DuckDBInstance.create(join(directory, 'eider-data.duckdb'))
    const connection = await instance.connect()
    const reader = await connection.runAndReadAll(
      `SELECT count(*), count(layout), count_if(layout <> '') FROM project_1.kb_1_contexts`,
    )
    const [all = 0, known = 0, written = 0] = (reader.getRows()[0] ?? []).map(Number)
    expect([all > 2, known, written]).toEqual([true, all, 1])
    connection.closeSync()
    instance.closeSync()
  } finally {
    await rm(directory, { recursive: true })
  }
})

function files(name: string, sentences = 4): FormData {
  const sections = ['Green', 'Black'].map((one) => {
    return `## ${one}\n\n${`A sentence about ${one} tea. `.repeat(sentences)}`
  })
  const form = new FormData()
  form.append('file', new Blob([`# Tea\n\n${sections.join('\n\n')}`]), name)
  return form
}

/** Restores the state that an earlier version left. */
async function withoutLayouts(path: string): Promise<void> {
  const instance = await DuckDBInstance.create(path)
  const connection = await instance.connect()
  const reader = await connection.runAndReadAll(
    `SELECT schema_name, table_name FROM duckdb_tables() WHERE table_name LIKE '%contexts'`,
  )
  for (const [schema, table] of reader.getRows()) {
    await connection.run(`ALTER TABLE "${schema}"."${table}" DROP COLUMN layout`)
  }
  connection.closeSync()
  instance.closeSync()
}
