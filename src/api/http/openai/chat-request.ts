import { integer, maybe, open } from '../request/schema-words.ts'
/** Reads a body of `/v1/chat/completions`: which fields are used, ignored or refused. */

import { t } from 'elysia'
import { responseFormatOf } from '../../../agents/questions/completion-stream.ts'
import type { ConversationTurn } from '../../../core/domain/agents/agent.ts'
import type { ResponseFormat } from '../../../core/domain/ports/model-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import { bodySchema } from '../bodies/body.ts'

/** Clients send many other fields, which are ignored without a check. */
export const OPEN = { additionalProperties: true }

const PART = open({ type: t.String(), text: maybe(t.String()) })
export type Part = (typeof PART)['static']

const MESSAGE = open({
  role: t.String({ description: 'system, developer, user or assistant' }),
  content: t.Optional(t.Union([t.String(), t.Array(PART), t.Null()])),
})

const flag = maybe(t.Boolean())

export const CHAT = bodySchema(
  open({
    model: t.String({ description: 'project.agent or project.knowledge_base' }),
    messages: t.Array(MESSAGE, { description: 'The last user message is the question' }),
    stream: flag,
    stream_options: maybe(open({ include_usage: flag })),
    n: maybe(integer(), { description: 'Only 1 is supported' }),
    response_format: t.Optional(t.Unknown()),
    tools: t.Optional(t.Unknown()),
    tool_choice: t.Optional(t.Unknown()),
    eider: maybe(open({ steps: flag }), {
      description: '{"steps": true} returns tool steps as reasoning_content',
    }),
  }),
)

type ChatBody = ReturnType<(typeof CHAT)['check']>

/** The header that requests tool steps, for clients that cannot send additional fields. */
const STEPS_HEADER = 'x-eider-steps'

export interface Said {
  readonly question: string
  /** Oldest first. */
  readonly history: readonly ConversationTurn[]
  /** Instructions from system and developer messages; missing if there are none. */
  readonly wishes?: string
}

export interface ChatAsked extends Said {
  readonly answerForm?: ResponseFormat
  /** The function whose arguments the client wants instead of an answer. */
  readonly asCall?: string
  readonly streams: boolean
  readonly withUsage: boolean
  readonly withSteps: boolean
  readonly ignored: readonly string[]
}

/** @throws AppError `invalid_request` naming the invalid field */
export function chatAsked(body: ChatBody, headers: Headers): ChatAsked {
  const { n, stream, stream_options: options, messages } = body
  if (typeof n === 'number' && n !== 1) {
    throw wrong('n', '"n" must be 1: an agent gives one answer to a question')
  }
  refuseSound(body)
  const form = formOf(body)
  return {
    ...saidIn(messages, 'messages'),
    ...form,
    streams: stream === true,
    withUsage: options?.include_usage === true,
    withSteps: wantsSteps(body.eider?.steps ?? undefined, headers),
    ignored: ignoredFields(body, form.asCall === undefined ? HONOURED : HONOURED_CALL),
  }
}

export function wantsSteps(sent: boolean | undefined, headers: Headers): boolean {
  return sent ?? /^(?:1|true|yes|on)$/i.test(headers.get(STEPS_HEADER) ?? '')
}

const HONOURED: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'n',
  'response_format',
  'eider',
])
const HONOURED_CALL: ReadonlySet<string> = new Set([...HONOURED, 'tools', 'tool_choice'])

const NAMES_TOLD = 20

/** The names of fields that have no effect, to tell the client. */
export function ignoredFields(body: object, honoured: ReadonlySet<string>): readonly string[] {
  const sent = Object.entries(body).filter(([name, value]) => {
    const isEmpty = Array.isArray(value) && value.length === 0
    return value !== null && !isEmpty && !honoured.has(name) && /^[\w-]{1,40}$/.test(name)
  })
  return sent.slice(0, NAMES_TOLD).map(([name]) => name)
}

function refuseSound(body: object): void {
  const modalities: unknown = Reflect.get(body, 'modalities')
  if (Array.isArray(modalities) && modalities.some((one) => one !== 'text')) {
    throw wrong('modalities', 'Agents answer only with text: "modalities" must be ["text"]')
  }
}

interface SentMessage {
  readonly role: string
  readonly content?: string | readonly Part[] | null
}

/** The user's last message is the question. Later messages and earlier results are ignored. */
export function saidIn(messages: readonly SentMessage[], field: string): Said {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const asked = messages[last]
  if (asked !== undefined) refuseOtherMedia(asked, `${field}[${last}]`)
  const question = asked === undefined ? '' : messageText(asked)
  if (question.trim() === '') {
    throw wrong(
      field,
      `"${field}" contains no question: add a message with the role "user" and text`,
    )
  }
  const history: ConversationTurn[] = []
  const wishes: string[] = []
  messages.forEach((message, index) => {
    const { role } = message
    const content = messageText(message)
    if (role === 'system' || role === 'developer') wishes.push(content)
    else if (role !== 'user' && role !== 'assistant' && role !== 'tool' && role !== 'function') {
      throw unknownRole(role, `${field}[${index}].role`)
    } else if (index < last && content !== '' && (role === 'user' || role === 'assistant')) {
      history.push({ role, content })
    }
  })
  const wished = wishes.join('\n\n').trim()
  return { question, history, ...(wished === '' ? {} : { wishes: wished }) }
}

function unknownRole(role: string, field: string): AppError {
  const expected = 'expected "system", "developer", "user" or "assistant"'
  return wrong(field, `"${field}" is "${role.slice(0, 40)}"; ${expected}`)
}

function messageText({ content }: SentMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => text ?? '').join('\n')
}

const TEXT_PARTS: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text', 'refusal'])

/** Checks only the question, because an image earlier in the conversation must not make it fail. */
function refuseOtherMedia({ content }: SentMessage, field: string): void {
  if (typeof content === 'string') return
  const index = (content ?? []).findIndex(({ type }) => !TEXT_PARTS.has(type))
  const type = content?.[index]?.type
  if (type === undefined) return
  const place = `${field}.content[${index}]`
  const message = `Agents read only text: "${place}" has the type "${type.slice(0, 40)}"`
  throw wrong(place, `${message}; put documents into a knowledge base of the agent`)
}

type Form = Pick<ChatAsked, 'answerForm' | 'asCall'>

function formOf({ response_format, tools, tool_choice: choice }: ChatBody): Form {
  const call = forcedCall(tools, choice)
  if (call !== undefined) return call
  const answerForm = responseFormatOf(response_format)
  return answerForm === undefined ? {} : { answerForm }
}

/** A client that requires one function wants its arguments. Optional functions are ignored. */
function forcedCall(tools: unknown, choice: unknown): Form | undefined {
  const functions = (Array.isArray(tools) ? tools : []).flatMap(functionIn)
  const named = isObject(choice) && isObject(choice.function) ? choice.function.name : undefined
  if (choice !== 'required' && named === undefined) return undefined
  const found =
    named === undefined && functions.length === 1
      ? functions[0]
      : functions.find(({ name }) => name === named)
  if (found === undefined) {
    const message = '"tool_choice" requires a call, but agents cannot call a client’s functions'
    const next = 'name one of "tools" to get its arguments as the answer, or send "auto"'
    throw wrong('tool_choice', `${message}; ${next}`)
  }
  const { name, parameters } = found
  const schema = { type: 'json_schema', json_schema: { name, schema: parameters } }
  const answerForm = responseFormatOf(schema)
  return answerForm === undefined ? undefined : { answerForm, asCall: name }
}

function functionIn(tool: unknown) {
  if (!isObject(tool) || !isObject(tool.function)) return []
  const { name, parameters = { type: 'object' } } = tool.function
  return typeof name === 'string' ? [{ name, parameters }] : []
}

export function wrong(param: string, message: string): AppError {
  return new AppError('invalid_request', message, { param: param.slice(0, 200) })
}
