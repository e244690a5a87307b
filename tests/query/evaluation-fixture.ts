import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

export type EvaluatedRow = Readonly<Record<string, unknown>>

/** A knowledge base about teas, and the two statements that evaluate it. */
export interface EvaluationFixture {
  readonly app: TestApp
  /** Replaces a table with these rows. */
  table(name: string, columns: string, rows: readonly (readonly unknown[])[]): Promise<void>
  /** Returns the rows as objects. @throws Error with the statement's message */
  evaluate(options: string, kb?: string): Promise<readonly EvaluatedRow[]>
  close(): Promise<void>
}

const DOCUMENTS = [
  { id: 'sencha', content: 'green tea from japan' },
  { id: 'assam', content: 'black tea from india' },
  { id: 'keemun', content: 'black tea from china' },
  { id: 'rooibos', content: 'red bush without caffeine' },
  // A document with many chunks about coffee.
  { id: 'coffee', content: Array.from({ length: 12 }, () => 'coffee coffee coffee.').join('\n\n') },
  { id: 'decaf', content: 'coffee without any caffeine' },
  { id: 'it', content: "it's 'quoted'" },
]

export async function openEvaluation(): Promise<EvaluationFixture> {
  const app = await createTestApp()
  const preprocessing = { text_chunking_config: { chunk_size: 40, chunk_overlap: 0 } }
  await app.send('POST', KBS, { knowledge_base: { name: 'teas', preprocessing } })
  await app.send('PUT', `${KBS}/teas`, { knowledge_base: { rows: DOCUMENTS } })
  const statement = async (query: string, params = {}) => {
    const { body } = await app.send('POST', '/api/sql/query', { query, params })
    const answer = body as { column_names?: string[]; data?: unknown[][]; error_message?: string }
    if (answer.error_message !== undefined) throw new Error(answer.error_message)
    return answer
  }
  return {
    app,
    async table(name, columns, rows) {
      const cells = rows.flatMap((row, at) => row.map((value, of) => [`v${at}_${of}`, value]))
      const values = rows.map((row, at) => `(${row.map((_, of) => `:v${at}_${of}`).join(', ')})`)
      const select = `SELECT * FROM (VALUES ${values.join(', ')}) AS t(${columns})`
      const query = `CREATE OR REPLACE TABLE ${name} AS ${select}`
      await statement(query, Object.fromEntries(cells))
    },
    async evaluate(options, kb = 'teas') {
      const { column_names = [], data = [] } = await statement(
        `EVALUATE KNOWLEDGE_BASE ${kb} USING ${options}`,
      )
      return data.map((row) => Object.fromEntries(column_names.map((name, at) => [name, row[at]])))
    },
    close: () => app.close(),
  }
}
