/** Kinds that are not documents: rows of project tables, API keys and conversations. */
import { ABSENT, commonVersions, type Kind, PROJECT, type Target } from './kind.ts'

const ROWS = 3
const AGENT = 'keeper'
const CONVERSATIONS = `${PROJECT}/agents/${AGENT}/conversations`

export async function prepareRecords({ client }: Target): Promise<void> {
  await client.sql(
    'CREATE TABLE kept (id VARCHAR, part INTEGER, version BIGINT CHECK (version > 0), PRIMARY KEY (id, part))',
  )
  const agent = { name: AGENT, data: { knowledge_bases: ['mindsdb.small'] } }
  await client.request('POST', `${PROJECT}/agents`, { agent })
}

/** INSERT, ON CONFLICT, UPDATE and DELETE, each with several rows. */
const tableRows: Kind = {
  name: 'rows of a table',
  change: (choose, version, stateOf) => {
    const key = `t${choose(10)}`
    const rows = `SELECT '${key}', range, ${version} FROM range(${ROWS})`
    const insert = `INSERT INTO kept ${rows}`
    const upsert = `${insert} ON CONFLICT (id, part) DO UPDATE SET version = excluded.version`
    const update = `UPDATE kept SET version = ${version} WHERE id = '${key}'`
    const remove = `DELETE FROM kept WHERE id = '${key}'`
    const statements = stateOf(key) === ABSENT ? [insert, upsert] : [update, upsert, remove]
    const sql = statements[choose(statements.length)] ?? upsert
    const state = sql === remove ? ABSENT : String(version)
    return { key, state, run: ({ client }) => client.sql(sql) }
  },
  observe: async ({ client }) => {
    const { rows } = await client.sql('SELECT id, version FROM kept')
    return commonVersions(rows, () => ROWS)
  },
}

interface KeyView {
  readonly id: number | string
  readonly name: string
}

async function listedKeys({ client }: Target): Promise<readonly KeyView[]> {
  return (await client.request('GET', '/keys')) as readonly KeyView[]
}

const apiKeys: Kind = {
  name: 'API keys',
  change: (choose, _, stateOf) => {
    const key = `key_${choose(5)}`
    const isThere = stateOf(key) !== ABSENT
    const run = async (target: Target) => {
      const { client } = target
      if (!isThere) return client.request('POST', '/keys', { name: key, scopes: ['read'] })
      const found = (await listedKeys(target)).find(({ name }) => name === key)
      return client.request('DELETE', `/keys/${found?.id}`)
    }
    return { key, state: isThere ? ABSENT : 'kept', run }
  },
  observe: async (target) => {
    return new Map((await listedKeys(target)).map(({ name }) => [name, 'kept']))
  },
}

interface ConversationView {
  readonly conversation_id: string
  readonly title: string
}

async function listedConversations({ client }: Target): Promise<readonly ConversationView[]> {
  const { items } = (await client.request('GET', CONVERSATIONS)) as {
    readonly items: readonly ConversationView[]
  }
  return items
}

/** The version is that of the newest question. */
const conversations: Kind = {
  name: 'conversations',
  change: (choose, version, stateOf) => {
    const key = `talk_${choose(4)}`
    const isThere = stateOf(key) !== ABSENT
    const isDeleted = isThere && choose(4) === 0
    const run = async (target: Target) => {
      const { client } = target
      const listed = isThere ? await listedConversations(target) : []
      const id = listed.find(({ title }) => title.startsWith(key))?.conversation_id ?? 'new'
      if (isDeleted) return client.request('DELETE', `${CONVERSATIONS}/${id}`)
      return client.request('POST', `${PROJECT}/agents/${AGENT}/completions`, {
        messages: [{ role: 'user', content: `${key} is small ${version}` }],
        conversation_id: id,
      })
    }
    return { key, state: isDeleted ? ABSENT : String(version), run }
  },
  observe: async (target) => {
    const found = new Map<string, string>()
    for (const { conversation_id: id, title } of await listedConversations(target)) {
      const [key = ''] = title.split(' ')
      const path = `${CONVERSATIONS}/${id}?limit=1`
      const newest = JSON.stringify(await target.client.request('GET', path))
      // The title is the first question, and versions grow.
      const asked = [...newest.matchAll(/is small (\d+)/g)].map(([, version]) => Number(version))
      found.set(key, found.has(key) ? 'twice' : String(Math.max(...asked)))
    }
    return found
  },
}

export const RECORD_KINDS: readonly Kind[] = [tableRows, apiKeys, conversations]
