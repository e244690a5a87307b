// LangChain for TypeScript.
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'

const settings = {
  model: 'mindsdb.sommelier',
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
}
const model = new ChatOpenAI(settings)
const asked = [
  ['system', 'Answer in one sentence.'],
  ['human', 'Where does rooibos come from?'],
]
const answer = await model.invoke(asked)
const pieces = []
let usage
for await (const chunk of await model.stream(asked)) {
  pieces.push(chunk.content)
  usage = chunk.usage_metadata ?? usage
}
const Origin = z.object({ origin: z.string(), caffeine: z.boolean() })
const bySchema = await model.withStructuredOutput(Origin, { method: 'jsonSchema' }).invoke(asked)
const byCall = await model.withStructuredOutput(Origin, { method: 'functionCalling' }).invoke(asked)
process.stdout.write(
  JSON.stringify({
    content: answer.content,
    usage: answer.usage_metadata,
    streamed: pieces.join(''),
    streamedUsage: usage,
    bySchema,
    byCall,
  }),
)
