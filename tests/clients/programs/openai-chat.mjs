// OpenAI's client for TypeScript, as its README uses it.
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'

const client = new OpenAI()
const messages = [
  { role: 'developer', content: 'Answer in one sentence.' },
  { role: 'user', content: 'Where does rooibos come from?' },
]
const model = 'mindsdb.sommelier'

const models = []
for await (const one of client.models.list()) models.push(one.id)
const named = await client.models.retrieve('sommelier')

const whole = await client.chat.completions.create({ model, messages, temperature: 0, seed: 1 })

const pieces = []
let usage
let annotations = []
const stream = await client.chat.completions.create({
  model,
  messages,
  stream: true,
  stream_options: { include_usage: true },
})
for await (const chunk of stream) {
  pieces.push(chunk.choices[0]?.delta?.content ?? '')
  annotations = chunk.choices[0]?.delta?.annotations ?? annotations
  usage = chunk.usage ?? usage
}

const helper = client.chat.completions.stream({ model, messages })
const helped = await helper.finalContent()

const Origin = z.object({ origin: z.string(), caffeine: z.boolean() })
const parsed = await client.chat.completions.parse({
  model,
  messages,
  response_format: zodResponseFormat(Origin, 'origin'),
})

const { data: base } = await client.chat.completions
  .create({ model: 'teas', messages })
  .withResponse()

const refused = await client.chat.completions
  .create({ model: 'nothing', messages }, { maxRetries: 0 })
  .catch((error) => ({ name: error.constructor.name, status: error.status, code: error.code }))

process.stdout.write(
  JSON.stringify({
    models,
    named: named.id,
    id: whole.id,
    requestId: whole._request_id,
    content: whole.choices[0].message.content,
    cited: whole.choices[0].message.annotations,
    finish: whole.choices[0].finish_reason,
    usage: whole.usage,
    streamed: pieces.join(''),
    streamedUsage: usage,
    streamedCited: annotations.length,
    helped,
    parsed: parsed.choices[0].message.parsed,
    base: base.choices[0].message.content,
    refused,
  }),
)
