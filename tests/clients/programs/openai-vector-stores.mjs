// The official SDK uploads files, searches them and deletes them.
import { readFileSync } from 'node:fs'
import OpenAI, { toFile } from 'openai'

const client = new OpenAI({ baseURL: `${process.env.EIDER_URL}/v1`, apiKey: 'sk-of-no-meaning' })
const pdf = readFileSync(process.env.PDF_PATH)

const file = await client.files.create({
  file: await toFile(Buffer.from('# Tea\n\nGreen tea is steeped at eighty degrees.'), 'tea.md'),
  purpose: 'assistants',
})
const again = await client.files.create({
  file: await toFile(Buffer.from('# Tea\n\nBlack tea wants boiling water.'), 'tea.md'),
  purpose: 'user_data',
})
const store = await client.vectorStores.create({
  name: 'Kitchen notes',
  metadata: { team: 'kitchen' },
  file_ids: [file.id],
})
await client.vectorStores.files.poll(store.id, file.id)
const attached = await client.vectorStores.files.createAndPoll(store.id, {
  file_id: again.id,
  attributes: { kind: 'black', year: 2024 },
})
const uploaded = await client.vectorStores.files.uploadAndPoll(
  store.id,
  await toFile(pdf, 'paper.pdf'),
  { pollIntervalMs: 100 },
)
const batch = await client.vectorStores.fileBatches.uploadAndPoll(
  store.id,
  {
    files: [
      await toFile(Buffer.from('Coffee is roasted beans.'), 'coffee.txt'),
      await toFile(Buffer.from('<h1>Mate</h1><p>Mate is drunk in Uruguay.</p>'), 'mate.html'),
    ],
  },
  // Files are uploaded one after the other, so that the list has the same order.
  { pollIntervalMs: 100, maxConcurrency: 1 },
)
const ofBatch = await client.vectorStores.fileBatches.listFiles(batch.id, {
  vector_store_id: store.id,
})
const found = await client.vectorStores.search(store.id, { query: 'water for black tea' })
const filtered = await client.vectorStores.search(store.id, {
  query: 'tea',
  filters: {
    type: 'and',
    filters: [
      { type: 'eq', key: 'kind', value: 'black' },
      { type: 'gte', key: 'year', value: 2020 },
    ],
  },
})
const names = []
for await (const one of client.vectorStores.files.list(store.id, { limit: 2 })) names.push(one.id)
const content = await client.vectorStores.files.content(file.id, { vector_store_id: store.id })
const updated = await client.vectorStores.files.update(again.id, {
  vector_store_id: store.id,
  attributes: { kind: 'strong' },
})
const renamed = await client.vectorStores.update(store.id, { name: 'Kitchen' })
const stores = await client.vectorStores.list({ limit: 5 })
const bytes = await (await client.files.content(file.id)).text()
const files = []
for await (const one of client.files.list({ limit: 2, order: 'asc' })) files.push(one.filename)
const detached = await client.vectorStores.files.delete(file.id, { vector_store_id: store.id })
const counts = (await client.vectorStores.retrieve(store.id)).file_counts
await client.files.delete(again.id)
const countsAfter = (await client.vectorStores.retrieve(store.id)).file_counts
const dropped = await client.vectorStores.delete(store.id)
const gone = await client.vectorStores.retrieve(store.id).catch((error) => error)

process.stdout.write(
  JSON.stringify({
    store: { id: store.id, name: store.name, metadata: store.metadata },
    attached: { status: attached.status, attributes: attached.attributes },
    uploaded: uploaded.status,
    batch: {
      status: batch.status,
      completed: batch.file_counts.completed,
      of: ofBatch.data.length,
    },
    best: {
      isBlack: found.data[0].file_id === again.id,
      filename: found.data[0].filename,
      isScore: found.data[0].score > 0 && found.data[0].score <= 1,
    },
    filtered: filtered.data.map((one) => one.file_id === again.id),
    listed: {
      count: names.length,
      isNewestLast: names.at(-1) === file.id,
      distinct: new Set(names).size,
    },
    content: content.data[0].text,
    updated: updated.attributes,
    renamed: [renamed.id, renamed.name],
    hasStore: stores.data.some((one) => one.id === store.id),
    bytes,
    files,
    detached,
    counts,
    countsAfter,
    dropped,
    gone: [gone.constructor.name, gone.status, gone.code],
  }),
)
