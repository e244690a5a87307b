/** Kinds whose work outlives their requests and must be completed after a restart, and backups. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EiderClient } from '../../scripts/eider-client.ts'
import { restore } from '../../src/store/restore.ts'
import { commonVersions, KBS, type Kind, type Target } from './kind.ts'

const POLL_MS = 20
/** Enough for several batches of a job. */
const BATCH_ROWS = 150

export async function prepareJobs({ client }: Target, model: object): Promise<void> {
  for (const name of ['queued', 'synced', 'exported', 'imported']) {
    const knowledge_base = { name, embedding_model: model, metadata_columns: ['version'] }
    await client.request('POST', KBS, { knowledge_base })
  }
  await client.sql(originSql(1))
  const source = { name: 'origin', kind: 'table', table: 'origin' }
  await client.request('POST', `${KBS}/synced/sources`, { source })
}

/** Waits until the knowledge base has no unfinished job. */
async function settled(client: EiderClient, knowledgeBase: string): Promise<void> {
  for (const state of ['running', 'queued', 'running']) {
    const path = `/jobs?knowledge_base=${knowledgeBase}&state=${state}&limit=1`
    while (((await client.request('GET', path)) as { readonly total: number }).total > 0) {
      await Bun.sleep(POLL_MS)
    }
  }
}

/** Reads all documents, which must have one version that says how many they are. */
async function observed(
  { client }: Target,
  knowledgeBase: string,
  sizeOf: (version: number) => number,
): Promise<ReadonlyMap<string, string>> {
  await settled(client, knowledgeBase)
  const { rows } = await client.sql(`SELECT split_part(id, '-', 1), version FROM ${knowledgeBase}`)
  return commonVersions(rows, sizeOf)
}

const backgroundInserts: Kind = {
  name: 'background inserts',
  change: (choose, version) => {
    const key = `batch${choose(3)}`
    const rows = Array.from({ length: BATCH_ROWS }, (_, row) => {
      return { id: `${key}-${row}`, content: `leaf ${row} version ${version}`, version }
    })
    const run = async ({ client }: Target) => {
      await settled(client, 'queued')
      const knowledge_base = { rows, background: true }
      return client.request('PUT', `${KBS}/queued`, { knowledge_base })
    }
    return { key, state: String(version), run }
  },
  observe: (target) => observed(target, 'queued', () => BATCH_ROWS),
}

const originRows = (version: number) => 20 + (version % 30)

function originSql(version: number): string {
  const rows = `SELECT 'origin-' || range AS id, 'leaf ' || range || ' version ${version}' AS content`
  const from = `FROM range(${originRows(version)})`
  return `CREATE OR REPLACE TABLE origin AS ${rows}, ${version} AS version ${from}`
}

/** Adds, changes and removes documents. */
const syncs: Kind = {
  name: 'syncs',
  change: (_, version) => {
    const run = async ({ client }: Target) => {
      await settled(client, 'synced')
      await client.sql(originSql(version))
      return client.request('POST', `${KBS}/synced/sources/origin/run`)
    }
    return { key: 'origin', state: String(version), run }
  },
  observe: (target) => observed(target, 'synced', originRows),
}

/** Imports what another knowledge base exports, waiting for it or in the background. */
const imports: Kind = {
  name: 'imports',
  change: (choose, version) => {
    const rows = Array.from({ length: 10 }, (_, row) => {
      return { id: `moved-${row}`, content: `leaf ${row} version ${version}`, version }
    })
    const isBackground = choose(2) === 0
    const run = async ({ client, baseUrl }: Target) => {
      await settled(client, 'imported')
      await client.request('PUT', `${KBS}/exported`, { knowledge_base: { rows } })
      const exported = await fetch(`${baseUrl}/api${KBS}/exported/export`)
      const answer = await fetch(
        `${baseUrl}/api${KBS}/imported/import?background=${isBackground}`,
        {
          method: 'POST',
          headers: { 'content-type': 'application/vnd.apache.parquet' },
          body: await exported.arrayBuffer(),
        },
      )
      const text = await answer.text()
      if (!answer.ok) throw new Error(`POST import answered ${answer.status}: ${text}`)
    }
    return { key: 'moved', state: String(version), run }
  },
  observe: (target) => observed(target, 'imported', () => 10),
}

const PAUSE_MS_MAX = 1_000

/** The newest backup must be restorable, and backups that a kill interrupted must not be listed. */
const backups: Kind = {
  name: 'backups',
  change: (choose) => {
    const pauseMs = choose(PAUSE_MS_MAX)
    const run = async ({ client }: Target) => {
      await Bun.sleep(pauseMs)
      return client.request('POST', '/backup')
    }
    return { key: 'newest', state: 'whole', run }
  },
  observe: async ({ client, dataDirectory }) => {
    const listed = (await client.request('GET', '/backups')) as readonly BackupView[]
    const newest = listed.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1))[0]
    const directory = join(dataDirectory, 'backups')
    const entries = await readdir(directory).catch(() => [])
    // The next backup removes the one that was interrupted.
    const finished = entries.filter((name) => !name.startsWith('.partial-'))
    const isTidy = finished.length === listed.length && entries.length - finished.length <= 1
    if (!isTidy) return new Map([['newest', `left: ${entries}`]])
    if (newest === undefined) return new Map()
    const folder = await mkdtemp(join(tmpdir(), 'eider-kill-cycles-restored-'))
    try {
      await restore({ backup: join(directory, newest.name), folder })
      return new Map([['newest', 'whole']])
    } catch (error) {
      return new Map([['newest', `${newest.name}: ${error}`]])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

interface BackupView {
  readonly name: string
  readonly created_at: string
}

export const JOB_KINDS: readonly Kind[] = [backgroundInserts, syncs, imports, backups]
