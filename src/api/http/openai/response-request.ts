/** Reads a body of `/v1/responses`: the question, its data, and the conversation it continues. */

import { t } from 'elysia'
import { responseFormatOf } from '../../../agents/questions/completion-stream.ts'
import { definedFields, isObject } from '../../../core/json.ts'
import { bodySchema } from '../bodies/body.ts'
import { maybe, open } from '../request/schema-words.ts'
import {
  type ChatAsked,
  ignoredFields,
  type Part,
  saidIn,
  wantsSteps,
  wrong,
} from './chat-request.ts'

const text = maybe(t.String())
const flag = maybe(t.Boolean())
const PART = open({ type: t.String(), text })
const ITEM = open({
  type: text,
  id: text,
  role: text,
  content: t.Optional(t.Union([t.String(), t.Array(PART), t.Null()])),
})

export const RESPONSE = bodySchema(
  open({
    model: t.String({ description: 'project.agent or project.knowledge_base' }),
    input: t.Union([t.String(), t.Array(ITEM)], { description: 'A question, or a conversation' }),
    instructions: text,
    stream: flag,
    store: flag,
    background: flag,
    previous_response_id: text,
    conversation: t.Optional(t.Union([t.String(), open({ id: t.String() }), t.Null()])),
    include: maybe(t.Array(t.String())),
    tools: t.Optional(t.Unknown()),
    tool_choice: t.Optional(t.Unknown()),
    text: maybe(open({ format: t.Optional(t.Unknown()) })),
    metadata: t.Optional(t.Unknown()),
    eider: maybe(open({ steps: flag })),
  }),
)

export type ResponseBody = ReturnType<(typeof RESPONSE)['check']>

export interface ResponseAsked
  extends Pick<
    ChatAsked,
    'question' | 'history' | 'wishes' | 'answerForm' | 'streams' | 'withSteps' | 'ignored'
  > {
  /** The knowledge bases to search instead of the agent's data; missing means the agent's data. */
  readonly vectorStores?: readonly string[]
  readonly withResults: boolean
}

/** @param told returns the answer with an earlier item's id @throws AppError with the field */
export async function responseAsked(
  body: ResponseBody,
  headers: Headers,
  told: (itemId: string) => Promise<string | null>,
): Promise<ResponseAsked> {
  if (body.background === true) {
    throw wrong('background', '"background" is not supported: wait for the answer, or stream it')
  }
  const { input, instructions, include, stream } = body
  const messages: ItemMessage[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : []
  if (typeof input !== 'string') {
    for (const item of input) messages.push(...(await messagesOf(item, told)))
  }
  const said = saidIn(messages, 'input')
  const wishes = [instructions, said.wishes].filter((one) => isTextContent(one)).join('\n\n')
  const vectorStores = searchedIn(body.tools)
  refuseForced(body.tool_choice, vectorStores !== undefined)
  const answerForm = responseFormatOf(formatOf(body.text?.format))
  return {
    ...{ question: said.question, history: said.history },
    ...(wishes === '' ? {} : { wishes }),
    ...definedFields({ answerForm, vectorStores }),
    streams: stream === true,
    withSteps: wantsSteps(body.eider?.steps ?? undefined, headers),
    withResults: include?.includes('file_search_call.results') === true,
    ignored: [
      ...ignoredFields(body, HONOURED),
      ...(vectorStores === undefined && ignoredFields(body, NONE).includes('tools')
        ? ['tools']
        : []),
    ],
  }
}

const NONE: ReadonlySet<string> = new Set()
const HONOURED: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'stream', 'store', 'background', 'previous_response_id'],
  ...['conversation', 'include', 'tools', 'tool_choice', 'text', 'metadata', 'eider'],
])

type Item = Exclude<ResponseBody['input'], string>[number]

interface ItemMessage {
  readonly role: string
  readonly content: string | Part[] | null
}

/** Agents look things up themselves, so earlier calls and results are ignored. */
async function messagesOf(
  item: Item,
  told: (itemId: string) => Promise<string | null>,
): Promise<readonly ItemMessage[]> {
  const { type, role, content, id } = item
  if (type === 'item_reference') {
    const answer = isTextContent(id) ? await told(id) : null
    return answer === null ? [] : [{ role: 'assistant', content: answer }]
  }
  if (typeof role !== 'string') return []
  return [{ role, content: content ?? null }]
}

const STORES_MAX = 20

/** The vector stores that `file_search` should use; undefined if it is not among the tools. */
function searchedIn(tools: unknown): readonly string[] | undefined {
  const searches = (Array.isArray(tools) ? tools : []).filter((tool) => {
    return isObject(tool) && tool.type === 'file_search'
  })
  if (searches.length === 0) return undefined
  const ids = searches.flatMap((tool): unknown => tool.vector_store_ids ?? [])
  const names = ids.filter((id) => typeof id === 'string')
  const field = 'tools[0].vector_store_ids'
  if (names.length === 0 || names.length < ids.length || names.length > STORES_MAX) {
    const expected = `1 to ${STORES_MAX} names of knowledge bases: project.name`
    throw wrong(field, `"vector_store_ids" of file_search must be ${expected}`)
  }
  return names
}

function refuseForced(choice: unknown, hasSearch: boolean): void {
  const isCall = isObject(choice) && (choice.type === 'function' || choice.type === 'custom')
  if (!isCall && (choice !== 'required' || hasSearch)) return
  const message = '"tool_choice" requires a call, but agents cannot call a client’s functions'
  throw wrong('tool_choice', `${message}: send "auto"; for JSON send "text": {"format": …}`)
}

/** Converts the format to the form that chat completions use. */
function formatOf(format: unknown): unknown {
  if (!isObject(format) || format.type !== 'json_schema') return format
  const { name, schema } = format
  return { type: 'json_schema', json_schema: { name, schema } }
}

function isTextContent(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
