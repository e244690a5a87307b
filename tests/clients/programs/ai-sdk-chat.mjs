// Vercel's AI SDK with both of its packages.
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, streamText } from 'ai'
import { z } from 'zod'

const baseURL = process.env.OPENAI_BASE_URL
const apiKey = process.env.OPENAI_API_KEY
const compatible = createOpenAICompatible({
  name: 'eider',
  baseURL,
  apiKey,
  includeUsage: true,
  supportsStructuredOutputs: true,
  headers: { 'X-Eider-Steps': 'true' },
})('mindsdb.sommelier')
const official = createOpenAI({ baseURL, apiKey }).chat('mindsdb.sommelier')
const system = 'Answer in one sentence.'
const prompt = 'Where does rooibos come from?'

async function tried(model) {
  const whole = await generateText({ model, system, prompt })
  const stream = streamText({ model, system, prompt })
  const pieces = []
  for await (const piece of stream.textStream) pieces.push(piece)
  const schema = z.object({ origin: z.string(), caffeine: z.boolean() })
  const { object } = await generateObject({ model, system, prompt, schema })
  return {
    text: whole.text,
    reasoning: whole.reasoningText ?? null,
    sources: whole.sources.map(({ title }) => title),
    usage: whole.usage.totalTokens,
    streamed: pieces.join(''),
    streamedReasoning: (await stream.reasoningText) ?? null,
    streamedSources: (await stream.sources).length,
    streamedUsage: (await stream.usage).totalTokens,
    finish: await stream.finishReason,
    object,
  }
}

process.stdout.write(
  JSON.stringify({ compatible: await tried(compatible), official: await tried(official) }),
)
