// OpenAI's client for TypeScript: responses, with searched files and a conversation.
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'

const client = new OpenAI()
const model = 'mindsdb.sommelier'
const input = 'Where does rooibos come from?'

const first = await client.responses.create({ model, input, instructions: 'Be short.' })
const second = await client.responses.create({ model, input, previous_response_id: first.id })
const kept = await client.responses.retrieve(second.id)
await client.responses.delete(second.id)
const gone = await client.responses.retrieve(second.id).catch(({ status, code }) => [status, code])

const search = await client.responses.create({
  model: 'gpt-5',
  input: [{ role: 'user', content: [{ type: 'input_text', text: input }] }],
  tools: [{ type: 'file_search', vector_store_ids: ['mindsdb.teas'] }],
  include: ['file_search_call.results'],
})

const types = []
const numbers = []
const pieces = []
const stream = await client.responses.create({
  model,
  input,
  stream: true,
  tools: [{ type: 'file_search', vector_store_ids: ['mindsdb.teas'] }],
})
for await (const event of stream) {
  types.push(event.type)
  numbers.push(event.sequence_number)
  if (event.type === 'response.output_text.delta') pieces.push(event.delta)
}

const helped = await client.responses.stream({ model, input }).finalResponse()
const Origin = z.object({ origin: z.string(), caffeine: z.boolean() })
const parsed = await client.responses.parse({
  model,
  input,
  text: { format: zodTextFormat(Origin, 'origin') },
})

process.stdout.write(
  JSON.stringify({
    id: first.id,
    text: first.output_text,
    status: first.status,
    usage: first.usage,
    annotations: first.output[0].content[0].annotations,
    second: second.output_text,
    sameConversation: first.conversation?.id === second.conversation?.id,
    kept: kept.output[0].content[0].text,
    gone,
    searched: search.output,
    types: types.filter((type, index) => type !== types[index - 1]),
    ordered: numbers.every((number, index) => number === index),
    streamed: pieces.join(''),
    helped: helped.output_text,
    parsed: parsed.output_parsed,
  }),
)
