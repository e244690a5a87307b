/** mindsdb-js-sdk as its users use it: every part of it that Eider has. Prints what each step saw. */
import sdk from 'mindsdb-js-sdk'

const { SQL, Databases, Projects, Tables, Views, Models, MLEngines, connect } = sdk.default
await connect({
  host: process.env.EIDER_URL,
  user: process.env.EIDER_USERNAME ?? '',
  password: process.env.EIDER_PASSWORD ?? '',
  managed: true,
})

const seen = {}
async function step(name, run) {
  try {
    seen[name] = await run()
  } catch (error) {
    seen[name] = `failed: ${error.message.slice(0, 200)}`
  }
}

async function rows(query) {
  const answer = await SQL.runQuery(query)
  if (answer.error_message) throw new Error(answer.error_message)
  return answer.rows
}

await step('projects', async () => {
  await Databases.createDatabase('house')
  const found = await Databases.getDatabase('house')
  const names = (await Projects.getAllProjects()).map(({ name }) => name)
  return [names.sort(), found.type]
})
await step('databases', async () => {
  const params = { host: '127.0.0.1', port: 1, user: 'u', password: 'p', database: 'd' }
  await Databases.createDatabase('pg', 'postgres', params)
  const names = (await Databases.getAllDatabases()).map(({ name }) => name)
  const found = await Databases.getDatabase('pg')
  await found.delete()
  return [names.sort(), found.engine, await Databases.getDatabase('pg')]
})
await step('tables', async () => {
  await Tables.createTable('cups', 'house', 'SELECT 1 AS id, 9007199254740993 AS large')
  const table = await Tables.createOrReplaceTable('cups2', 'house', 'SELECT * FROM house.cups')
  const copied = await rows('SELECT * FROM house.cups2')
  await table.delete()
  return copied
})
await step('views', async () => {
  const view = await Views.createView('dear', 'house', 'SELECT * FROM house.cups WHERE id > 0')
  const names = (await Views.getAllViews('house')).map(({ name }) => name)
  const read = await rows('SELECT id FROM house.dear')
  await view.delete()
  return [names, read, (await Views.getAllViews('house')).length]
})
await step('knowledge bases', async () => {
  await rows('CREATE KNOWLEDGE_BASE house.teas')
  const text = 'Rooibos is a red herbal infusion from South Africa without caffeine.'
  await rows(`INSERT INTO house.teas (id, content) VALUES ('rooibos', '${text}')`)
  return rows("SELECT id, chunk_content FROM house.teas WHERE content = 'caffeine' LIMIT 1")
})
await step('agents', async () => {
  await rows(`CREATE AGENT house.sommelier USING data = {"knowledge_bases": ["house.teas"]}`)
  const [row] = await rows(
    "SELECT answer FROM house.sommelier WHERE question = 'Which infusion has no caffeine?'",
  )
  await rows('DROP AGENT house.sommelier')
  return row.answer.includes('Rooibos')
})
await step('models', async () => {
  const none = (await Models.getModel('none', 'house')) ?? null
  return [await Models.getAllModels('house'), none]
})
await step('engines', () => MLEngines.getAllMLEngines())
await step('an error', () => Tables.deleteTable('nothing', 'house'))
await step('cleaned', async () => {
  await rows('DROP KNOWLEDGE_BASE house.teas')
  await rows('DROP TABLE house.cups')
  await Databases.deleteDatabase('house')
  return (await Projects.getAllProjects()).map(({ name }) => name)
})
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
