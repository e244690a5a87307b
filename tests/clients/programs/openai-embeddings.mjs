// The official SDK, LangChain and the AI SDK embed as their documentation shows.
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIEmbeddings } from '@langchain/openai'
import { OpenAIEmbedding } from '@llamaindex/openai'
import { embed, embedMany } from 'ai'
import OpenAI from 'openai'

const baseURL = `${process.env.EIDER_URL}/v1`
const apiKey = 'sk-of-no-meaning'
const model = 'all-MiniLM-L6-v2'
const text = 'Green tea is steeped at eighty degrees.'
const client = new OpenAI({ baseURL, apiKey })

const usual = await client.embeddings.create({ model, input: text })
const floats = await client.embeddings.create({
  model,
  input: [text, 'b'],
  encoding_format: 'float',
})
const failure = await client.embeddings
  .create({ model: 'none', input: text })
  .catch((error) => error)
const langchain = new OpenAIEmbeddings({ model, apiKey, configuration: { baseURL } })
const [ofQuery, ofDocuments] = await Promise.all([
  langchain.embedQuery(text),
  langchain.embedDocuments([text, 'Black tea']),
])
const sdkModel = createOpenAI({ baseURL, apiKey }).textEmbeddingModel(model)
const one = await embed({ model: sdkModel, value: text })
const compatible = createOpenAICompatible({ name: 'eider', baseURL }).textEmbeddingModel(model)
const many = await embedMany({ model: compatible, values: [text, 'Black tea'] })
const llama = new OpenAIEmbedding({ model, apiKey, baseURL })
const ofLlama = await llama.getTextEmbedding(text)

const first = usual.data[0].embedding
const isSame = (vector) =>
  vector.length === first.length &&
  vector.every((value, index) => Math.abs(value - first[index]) < 1e-6)
process.stdout.write(
  JSON.stringify({
    dimensions: first.length,
    usage: usual.usage,
    model: usual.model,
    same: {
      floats: isSame(floats.data[0].embedding),
      langchain: isSame(ofQuery) && isSame(ofDocuments[0]),
      aiSdk: isSame(one.embedding),
      aiSdkCompatible: isSame(many.embeddings[0]),
      llamaIndex: isSame(ofLlama),
    },
    failure: { name: failure.constructor.name, status: failure.status, code: failure.code },
  }),
)
