// Vercel's AI SDK with responses, which its package for OpenAI uses by default.
import { createOpenAI } from '@ai-sdk/openai'
import { generateObject, generateText, streamText } from 'ai'
import { z } from 'zod'

const openai = createOpenAI({
  baseURL: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
})
const model = openai('mindsdb.sommelier')
const prompt = 'Where does rooibos come from?'
const first = await generateText({ model, system: 'Be short.', prompt })
// The second turn refers to the first answer by its ID.
const second = await generateText({
  model,
  messages: [
    { role: 'user', content: prompt },
    ...first.response.messages,
    { role: 'user', content: 'And is there caffeine in it?' },
  ],
})
const stream = streamText({
  model,
  prompt,
  tools: { file_search: openai.tools.fileSearch({ vectorStoreIds: ['mindsdb.teas'] }) },
})
const pieces = []
for await (const piece of stream.textStream) pieces.push(piece)
const schema = z.object({ origin: z.string(), caffeine: z.boolean() })
const { object } = await generateObject({ model, prompt, schema })
process.stdout.write(
  JSON.stringify({
    text: first.text,
    sources: first.sources.map(({ title }) => title),
    second: second.text,
    streamed: pieces.join(''),
    streamedSources: (await stream.sources).length,
    usage: (await stream.usage).totalTokens,
    object,
  }),
)
