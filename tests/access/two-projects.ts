/** A server with an open project and a vault that a limited key must never see. */
import { createTestApp, type TestApp } from '../support/test-app.ts'

/** A part of every name and text in the secret project. Nothing else contains it. */
export const SECRET = 'zanzibar'

export async function twoProjects(): Promise<TestApp> {
  const app = await createTestApp()
  const run = async (query: string) => {
    const { body } = await app.send('POST', '/api/sql/query', { query })
    const { type, error_message } = body as { type: string; error_message?: string }
    if (type === 'error') throw new Error(`${query}: ${error_message}`)
  }
  for (const [project, word] of [
    ['open', 'kettle'],
    [SECRET, SECRET],
  ] as const) {
    const kbs = `/api/projects/${project}/knowledge_bases`
    await app.send('POST', '/api/projects', { project: { name: project } })
    await app.send('POST', kbs, {
      knowledge_base: { name: `${word}_kb`, metadata_columns: ['color'] },
    })
    const rows = [{ id: `${word}-1`, content: `The ${word} is red and hums.`, color: word }]
    await app.send('PUT', `${kbs}/${word}_kb`, { knowledge_base: { rows } })
    await app.send('PUT', `${kbs}/${word}_kb`, { knowledge_base: { rows, background: true } })
    await run(`CREATE TABLE ${project}.${word}_table AS SELECT '${word}' AS word, 7 AS n`)
    await run(`CREATE VIEW ${project}.${word}_view AS SELECT * FROM ${project}.${word}_table`)
    await run(
      `CREATE AGENT ${project}.${word}_agent USING data = {"knowledge_bases": ["${project}.${word}_kb"], "tables": ["${project}.${word}_table"]}`,
    )
    await run(`CREATE JOB ${project}.${word}_job (SELECT 1) START '2999-01-01' EVERY 1 day`)
    await app.send('POST', `/api/projects/${project}/agents/${word}_agent/completions`, {
      messages: [{ role: 'user', content: `What does the ${word} do?` }],
    })
  }
  // A view that an admin made over the secret project. Only those with rights to that project can
  // read it.
  const table = `${SECRET}.${SECRET}_table`
  await run(`CREATE VIEW open.leak AS SELECT *, n AS ${SECRET}_n FROM ${table}`)
  await run('CREATE VIEW open.second_leak AS SELECT * FROM open.leak')
  // Its unqualified name refers to the secret project.
  await app.send('POST', '/api/sql/query', {
    query: `CREATE VIEW open.bare_leak AS SELECT n AS ${SECRET}_n FROM ${SECRET}_table`,
    context: { db: SECRET },
  })
  await run(
    `CREATE AGENT open.both USING data = {"knowledge_bases": ["kettle_kb", "${SECRET}.${SECRET}_kb"], "tables": ["open.kettle_table", "${table}"]}`,
  )
  for (const from of [
    `'query', query = 'SELECT word FROM ${table}'`,
    `'table', table = '${table}'`,
  ]) {
    await run(
      `ALTER KNOWLEDGE_BASE open.kettle_kb ADD SOURCE "over ${from.slice(1, 6)}" USING kind = ${from}`,
    )
  }
  for (const [index, statement] of [
    `SELECT * FROM ${table}`,
    `SELECT 1; UPDATE ${table} SET n = 8`,
    `CREATE AGENT IF NOT EXISTS open.spy USING data = {"tables": ["${table}"]}`,
  ].entries()) {
    await run(`CREATE JOB open.over_${index} (${statement}) START '2999-01-01' EVERY 1 day`)
  }
  await run(
    `CREATE JOB open.if_over (SELECT 1) START '2999-01-01' EVERY 1 day IF (SELECT * FROM ${table} WHERE n > LAST)`,
  )
  await run(
    `INSERT INTO open.kettle_kb (id, content) SELECT word, ${SECRET}_x FROM ${SECRET}.gone USING background = true`,
  )
  await run('CREATE VIEW open.schema_leak AS SELECT * FROM information_schema.tables')
  const form = new FormData()
  form.append('file', new Blob([`word\n${SECRET}\n`]), `${SECRET}.csv`)
  await app.send('PUT', `/api/files/${SECRET}.csv`, form)
  return app
}

/** Returns the text of the answer to a statement, and whether it failed. */
export async function asked(
  app: TestApp,
  query: string,
  headers: HeadersInit,
  context: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly text: string; readonly isRefused: boolean; readonly isForbidden: boolean }> {
  const { text, body } = await app.send('POST', '/api/sql/query', { query, ...context }, headers)
  const { type, error_code } = body as { type?: string; error_code?: number }
  return {
    text,
    isRefused: type === 'error',
    isForbidden: text.includes('forbidden') || error_code === 403,
  }
}
