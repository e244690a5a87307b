/** The kinds of writers: documents, files and definitions, with those in the other files. */
import type { EiderClient } from '../../scripts/eider-client.ts'
import { JOB_KINDS, prepareJobs } from './job-kinds.ts'
import { ABSENT, KBS, type Kind, PROJECT, type Target } from './kind.ts'
import { prepareRecords, RECORD_KINDS } from './record-kinds.ts'

const PARAGRAPHS = 3

/** Creates the knowledge bases of all kinds. `models` are two models with different vectors. */
export async function prepare(target: Target, models: readonly object[]): Promise<void> {
  const { client } = target
  const [embedding_model = {}] = models
  const create = (knowledge_base: object) => client.request('POST', KBS, { knowledge_base })
  // The column exists before the first row.
  const metadata_columns = ['version']
  await create({ name: 'docs', embedding_model, metadata_columns })
  await create({ name: 'listed', embedding_model, metadata_columns })
  await create({ name: 'small', embedding_model })
  const rows = Array.from({ length: 40 }, (_, id) => ({ id: `s${id}`, content: `small ${id}` }))
  await client.request('PUT', `${KBS}/small`, { knowledge_base: { rows } })
  await prepareRecords(target)
  await prepareJobs(target, embedding_model)
}

export function allKinds(models: readonly object[]): readonly Kind[] {
  const ofBases = [rowsBySql, index, language, embeddingModel(models)]
  return [documents('a'), documents('b'), ...ofBases, files].concat([
    named(
      'view',
      (name, version) => `CREATE OR REPLACE VIEW ${name} AS SELECT ${version} AS version`,
    ),
    named(
      'table',
      (name, version) => `CREATE OR REPLACE TABLE ${name} AS SELECT ${version} AS version`,
    ),
    agents,
    ...RECORD_KINDS,
    ...JOB_KINDS,
  ])
}

/** Inserts and replaces documents of several chunks over REST. */
function documents(writer: string): Kind {
  return {
    name: `documents ${writer}`,
    change: (choose, version) => {
      const key = `${writer}${choose(30)}`
      const rows = [{ id: key, content: textOf(version), version }]
      const run = ({ client }: Target) => {
        return client.request('PUT', `${KBS}/docs`, { knowledge_base: { rows } })
      }
      return { key, state: String(version), run }
    },
    observe: async ({ client }) => {
      const sql = `SELECT id, version, chunk_id, chunk_content FROM docs WHERE id LIKE '${writer}%'`
      const { rows } = await client.sql(sql)
      const chunks = Map.groupBy(rows, ([id]) => String(id))
      return new Map([...chunks].map(([id, of]) => [id, versionOf(of)]))
    },
  }
}

function textOf(version: number): string {
  const paragraph = (part: number) => `version ${version} part ${part} tea `.repeat(30)
  return Array.from({ length: PARAGRAPHS }, (_, part) => paragraph(part)).join('\n\n')
}

/** Returns the version shared by all chunks of a document, if none is missing. */
function versionOf(chunks: readonly (readonly unknown[])[]): string {
  const [, version, chunkId] = chunks[0] ?? []
  const total = /:\d+of(\d+):/.exec(String(chunkId))?.[1]
  const isWhole =
    String(chunks.length) === total &&
    chunks.every(([, one, , text]) => one === version && `${text}`.includes(`version ${version} `))
  return isWhole ? String(version) : `torn: ${JSON.stringify(chunks).slice(0, 300)}`
}

/** INSERT, UPDATE and DELETE. */
const rowsBySql: Kind = {
  name: 'rows by SQL',
  change: (choose, version, stateOf) => {
    const key = `r${choose(20)}`
    const isThere = stateOf(key) !== ABSENT
    const isDeleted = isThere && choose(3) === 0
    const insert = `INSERT INTO listed (id, content, version) VALUES ('${key}', 'row ${key}', ${version})`
    const update = `UPDATE listed SET version = ${version} WHERE id = '${key}'`
    const sql = isDeleted ? `DELETE FROM listed WHERE id = '${key}'` : isThere ? update : insert
    return {
      key,
      state: isDeleted ? ABSENT : String(version),
      run: ({ client }) => client.sql(sql),
    }
  },
  observe: async ({ client }) => {
    const { rows } = await client.sql('SELECT id, version FROM listed')
    return new Map(rows.map(([id, version]) => [String(id), String(version)]))
  },
}

/** CREATE INDEX and DROP INDEX on the knowledge base into which the documents are written. */
const index: Kind = {
  name: 'index',
  change: (choose) => {
    const state = ['ivf', 'exact', ABSENT][choose(3)] ?? ABSENT
    const sql =
      state === ABSENT
        ? 'DROP INDEX IF EXISTS ON KNOWLEDGE_BASE docs'
        : `CREATE INDEX ON KNOWLEDGE_BASE docs WITH (type = '${state}')`
    return { key: 'docs', state, run: ({ client }) => client.sql(sql) }
  },
  observe: async ({ client }) => {
    const { columnNames, rows } = await client.sql('SHOW INDEXES ON KNOWLEDGE_BASE docs')
    const type = rows[0]?.[columnNames.indexOf('type')]
    // Without a definition, the server chooses.
    return new Map(typeof type === 'string' && type !== 'auto' ? [['docs', type]] : [])
  },
}

/** A keyword index in another language, built in the background while documents are replaced. */
const language: Kind = {
  name: 'language',
  change: (choose) => {
    const state = ['english', 'german', 'french'][choose(3)] ?? ''
    const sql = `ALTER KNOWLEDGE_BASE docs USING language = '${state}'`
    return { key: 'docs', state, run: ({ client }) => client.sql(sql) }
  },
  observe: async ({ client }) => {
    const { params } = (await client.request('GET', `${KBS}/docs`)) as KnowledgeBaseView
    return new Map(params?.language === undefined ? [] : [['docs', params.language]])
  },
}

/** Re-embedding, which continues in the background and after a restart. */
function embeddingModel(models: readonly object[]): Kind {
  const nameOf = (model: object) => String((model as { model_name: string }).model_name)
  return {
    name: 'embedding model',
    change: (choose) => {
      const model = models[choose(models.length)] ?? {}
      const sql = `ALTER KNOWLEDGE_BASE small USING embedding_model = ${JSON.stringify(model)}`
      return { key: 'small', state: nameOf(model), run: ({ client }) => client.sql(sql) }
    },
    observe: async ({ client }) => {
      for (;;) {
        const kb = (await client.request('GET', `${KBS}/small`)) as KnowledgeBaseView
        if (kb.params?.reembedding) await Bun.sleep(20)
        else return new Map([['small', kb.embedding_model.model_name]])
      }
    },
  }
}

interface KnowledgeBaseView {
  readonly embedding_model: { readonly model_name: string }
  readonly params?: { readonly reembedding?: unknown; readonly language?: string }
}

const files: Kind = {
  name: 'files',
  change: (choose, version, stateOf) => {
    const key = `f${choose(6)}`
    const isThere = stateOf(key) !== ABSENT
    const run = async ({ client, baseUrl }: Target) => {
      if (isThere) return client.request('DELETE', `/files/${key}`)
      const body = new FormData()
      body.set('file', new File([`version\n${version}\n`], `${key}.csv`))
      const answer = await fetch(`${baseUrl}/api/files/${key}`, { method: 'PUT', body })
      if (!answer.ok) throw new Error(`PUT /api/files answered ${answer.status}`)
      return answer.text()
    }
    return { key, state: isThere ? ABSENT : String(version), run }
  },
  observe: async ({ client }) => {
    const listed = (await client.request('GET', '/files/')) as readonly { readonly name: string }[]
    return versions(
      client,
      listed.map(({ name }) => [name, `files.${name}`]),
    )
  },
}

/** Views and tables that are created, replaced and dropped. */
function named(kind: string, createSql: (name: string, version: number) => string): Kind {
  return {
    name: `${kind}s`,
    change: (choose, version, stateOf) => {
      const key = `${kind}_${choose(5)}`
      const isDropped = stateOf(key) !== ABSENT && choose(3) === 0
      const sql = isDropped ? `DROP ${kind} ${key}` : createSql(key, version)
      return {
        key,
        state: isDropped ? ABSENT : String(version),
        run: ({ client }) => client.sql(sql),
      }
    },
    observe: async ({ client }) => {
      const { rows } = await client.sql(
        `SELECT table_name FROM information_schema.tables WHERE table_name LIKE '${kind}!_%' ESCAPE '!'`,
      )
      return versions(
        client,
        rows.map(([name]) => [String(name), String(name)]),
      )
    },
  }
}

/** Returns the only number in each relation. */
async function versions(
  client: EiderClient,
  relations: readonly (readonly [key: string, relation: string])[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const [key, relation] of relations) {
    const { rows } = await client.sql(`SELECT version FROM ${relation}`)
    found.set(key, String(rows[0]?.[0]))
  }
  return found
}

const agents: Kind = {
  name: 'agents',
  change: (choose, version, stateOf) => {
    const key = `agent_${choose(4)}`
    const isThere = stateOf(key) !== ABSENT
    const isDropped = isThere && choose(3) === 0
    const verb = isThere ? 'ALTER' : 'CREATE'
    const sql = isDropped
      ? `DROP AGENT ${key}`
      : `${verb} AGENT ${key} USING prompt_template = 'version ${version}'`
    return {
      key,
      state: isDropped ? ABSENT : String(version),
      run: ({ client }) => client.sql(sql),
    }
  },
  observe: async ({ client }) => {
    const listed = (await client.request('GET', `${PROJECT}/agents`)) as readonly {
      readonly name: string
    }[]
    const own = listed.filter(({ name }) => name.startsWith('agent_'))
    return new Map(
      own.map((agent) => [agent.name, /version (\d+)/.exec(JSON.stringify(agent))?.[1] ?? '']),
    )
  },
}
