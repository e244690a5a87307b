/**
 * Run by faults.test.ts with failing-writes.c. Uses every kind of write through the product's own
 * requests, and prints a line for each response. Every acknowledged version of a document must
 * exist afterwards.
 */
import { createApp } from '../../../src/app.ts'
import { openStore } from '../../../src/store/store.ts'
import { settingsFrom } from '../../../src/wiring/settings/settings.ts'
import { wordEmbedders } from '../../support/test-app.ts'

const [directory = ''] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)
const settings = settingsFrom({ EIDER_LOG_LEVEL: 'silent', EIDER_DISK_RESERVE: '0MB' })
const fatal = Promise.withResolvers<Error>()
const store = await openStore({ directory, onFatal: fatal.resolve }).catch((error) => {
  say(`refused ${error.message}`)
  process.exit(1)
})
const app = createApp({ settings, store, version: '0', embedders: wordEmbedders })
let hasEnded = false

async function send(method: string, path: string, body?: unknown): Promise<number> {
  const isForm = body instanceof FormData
  const response = await app.handle(
    new Request(`http://localhost${path}`, {
      method,
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      ...(isForm ? {} : { headers: { 'content-type': 'application/json' } }),
    }),
  )
  const answer = await response.text()
  const code = /"(?:error_)?code":"?(\w+)/.exec(answer)?.[1] ?? ''
  if (!hasEnded) say(`answer ${response.status} ${code} ${method} ${path}`)
  return code === '' ? response.status : 500
}

const bases = '/api/projects/mindsdb/knowledge_bases'
const sql = (query: string) => send('POST', '/api/sql/query', { query })
const words = 'green tea in a small white cup on an old wooden table by the open window '

async function work(): Promise<void> {
  await send('POST', bases, { knowledge_base: { name: 'kb' } })
  for (let version = 1; version <= 12; version += 1) {
    const rows = [0, 1, 2, 3].map((number) => {
      return { id: `d${number}`, content: `${words.repeat(8)} number ${number}`, version }
    })
    if ((await send('PUT', `${bases}/kb`, { knowledge_base: { rows } })) === 200) {
      say(`stored ${version}`)
    }
    if (version === 4) await sql('VACUUM')
    if (version === 6) {
      const name = 'writer'
      const model = { provider: 'openai', model_name: 'm', api_key: 'sk-kept' }
      if (
        (await send('POST', '/api/projects/mindsdb/agents', { agent: { name, model } })) === 201
      ) {
        say('agent')
      }
      const form = new FormData()
      form.append('file', new File(['a,b\n', '1,2\n'.repeat(5000)], 'f.csv'))
      if ((await send('PUT', '/api/files/f', form)) === 200) say('file')
      if ((await sql('CREATE TABLE t AS SELECT range AS a FROM range(200000)')) === 200)
        say('table')
      await store.upkeep.run()
    }
    if (version === 8) await sql('VACUUM')
  }
  await sql('SELECT count(*) FROM kb')
  await app.close()
}

const reason = await Promise.race([
  work().then(
    () => 'done',
    (error: unknown) => `failed ${error}`,
  ),
  fatal.promise.then((error) => `fatal ${error.message}`),
])
hasEnded = true
say(reason)
// As in the server, the next start finishes what the database could not.
process.exit(reason === 'done' ? 0 : 1)
