// LlamaIndex for TypeScript.
import { OpenAI } from '@llamaindex/openai'

const llm = new OpenAI({
  model: 'mindsdb.sommelier',
  baseURL: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
})
const messages = [
  { role: 'system', content: 'Answer in one sentence.' },
  { role: 'user', content: 'Where does rooibos come from?' },
]
const { message } = await llm.chat({ messages })
const pieces = []
for await (const chunk of await llm.chat({ messages, stream: true })) pieces.push(chunk.delta)
process.stdout.write(JSON.stringify({ content: message.content, streamed: pieces.join('') }))
