/** Several Eiders that share one real PostgreSQL with pgvector, for the tests in one file. */
import { testPgvector } from '../../support/pgvector-server.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

/** The knowledge base of these tests. */
export const KB = '/api/projects/mindsdb/knowledge_bases/kb'

export async function postgresApps() {
  const server = await testPgvector()
  const opened: TestApp[] = []

  /** @param directory where its data is stored, by default in memory */
  async function app(directory?: string): Promise<TestApp> {
    const environment = { EIDER_NETWORK_ALLOW: '127.0.0.1' }
    const one = await createTestApp({ environment, ...(directory && { directory }) })
    opened.push(one)
    return one
  }

  /** An Eider that may store knowledge bases in PostgreSQL, as `pg`. */
  async function connected(directory?: string): Promise<TestApp> {
    const one = await app(directory)
    await must(one, connection(server?.parameters ?? {}))
    return one
  }

  return {
    ...{ server, app, connected },
    sql: async (text: string) => (await server?.run(text)) ?? [],
    async close(): Promise<void> {
      for (const one of opened) await one.close()
      await server?.stop()
    },
  }
}

/** A text's vector is always the same, and as far from every other text's. */
export function meaninglessEmbedders(dimensions: number) {
  const vectorOf = (text: string) => {
    let state = Bun.hash.crc32(text)
    return Float32Array.from({ length: dimensions }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32 - 0.5
    })
  }
  return {
    providers: ['builtin' as const],
    embedder: () => ({ embed: async (texts: readonly string[]) => texts.map(vectorOf) }),
    probe: async () => ({ kind: 'ready' as const, dimensions }),
  }
}

export function connection(parameters: object, name = 'pg'): string {
  const all = JSON.stringify({ ...parameters, storage: true })
  return `CREATE DATABASE ${name} ENGINE = 'postgres', PARAMETERS = ${all}`
}

/** @returns the error's message, or null if it succeeded */
export async function run(one: TestApp, sql: string): Promise<string | null> {
  const { body } = await one.send('POST', '/api/sql/query', { query: sql })
  return (body as { error_message?: string | null }).error_message ?? null
}

export async function must(one: TestApp, sql: string): Promise<void> {
  const failure = await run(one, sql)
  if (failure !== null) throw new Error(`${sql}: ${failure}`)
}
