import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import type { ChatMessage, ChatModel, ChatRequest } from '../../domain/ports/model-ports.ts'
import { type ChatConfig, chatDeltas, type ProviderCall } from '../chat-stream.ts'
import { openaiBaseUrl } from '../endpoint.ts'
import { toolArguments, toolName, toolSchema, withSystemFirst } from '../tool-arguments.ts'
import { OpenaiAnswer } from './openai-answer.ts'
import { openaiClient, openaiFailure } from './openai-client.ts'

const PATH = '/chat/completions'

/** Answers through any server with OpenAI's chat completions API. */
export function openaiChat({ endpoint, modelName, limits }: ChatConfig): ChatModel {
  const client = openaiClient(endpoint, limits)
  const url = `${openaiBaseUrl(endpoint.url)}${PATH}`
  return {
    respond(request, signal) {
      const body = bodyOf(request, modelName)
      const call: ProviderCall = {
        url,
        limits,
        send: (either) => client.chat.completions.create(body, { signal: either }).withResponse(),
        failureOf: (error) => openaiFailure(error, endpoint, PATH),
      }
      return chatDeltas(new OpenaiAnswer(request), call, signal)
    },
  }
}

function bodyOf(request: ChatRequest, model: string): ChatCompletionCreateParamsStreaming {
  const messages = withSystemFirst(request.messages).map((message) => {
    return messageParam(message, request)
  })
  const tools = request.tools.map((tool) => {
    const parameters = toolSchema(tool)
    const { name, description } = tool
    return { type: 'function' as const, function: { name, description, parameters } }
  })
  // Some servers refuse an empty list.
  return { model, messages, stream: true, ...(tools.length === 0 ? {} : { tools }) }
}

function messageParam(message: ChatMessage, request: ChatRequest): ChatCompletionMessageParam {
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.callId, content: message.content }
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content }
  if (message.toolCalls.length === 0) return { role: 'assistant', content: message.content }
  const toolCalls = message.toolCalls.map((call) => {
    const values = JSON.stringify(toolArguments(call, request.tools))
    const called = { name: toolName(call.name), arguments: values }
    return { type: 'function' as const, id: call.id, function: called }
  })
  const content = message.content === '' ? null : message.content
  return { role: 'assistant', content, tool_calls: toolCalls }
}
