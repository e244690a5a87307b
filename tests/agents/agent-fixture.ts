import type { AgentPool } from '../../src/agents/questions/agent-pool.ts'
import type { AgentQuestion } from '../../src/agents/questions/agent-question.ts'
import {
  type CompletionStreamOptions,
  completionStream,
} from '../../src/agents/questions/completion-stream.ts'
import type { CatalogSnapshot } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../src/core/domain/agents/agent.ts'
import type { CompletionEvent } from '../../src/core/domain/agents/completion-event.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type {
  ChatDelta,
  ChatModel,
  ChatRequest,
  ToolCall,
} from '../../src/core/domain/ports/model-ports.ts'
import { PLAIN_FILE, type UploadedFile } from '../../src/core/domain/uploaded-file.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'

export const CREATED_AT = '2026-01-01 00:00:00.000000'

export const NO_SIGNAL = new AbortController().signal

export function agentNamed(name: string, changes: Partial<Agent> = {}): Agent {
  return {
    id: 1,
    name,
    projectId: 1,
    projectName: 'mindsdb',
    model: { provider: 'builtin', modelName: 'scripted', options: {} },
    data: { knowledgeBases: ['mindsdb.docs'], tables: [] },
    promptTemplate: null,
    params: {},
    createdAt: CREATED_AT,
    updatedAt: CREATED_AT,
    ...changes,
  }
}

export function kbNamed(fullName: string, changes: Partial<KnowledgeBase> = {}): KnowledgeBase {
  const [projectName = '', name = ''] = fullName.split('.')
  const id = Bun.hash.crc32(fullName)
  return knowledgeBase({ id, name, projectName, dimensions: 3, revision: 1, ...changes })
}

export function fileNamed(name: string): UploadedFile {
  return {
    id: 1,
    name,
    originalName: name,
    format: 'csv',
    sizeBytes: 1,
    columns: ['a'],
    rowCount: 1,
    createdAt: CREATED_AT,
    ...PLAIN_FILE,
  }
}

export function snapshotOf(content: Partial<CatalogSnapshot>): CatalogSnapshot {
  const empty = {
    projects: [],
    knowledgeBases: [],
    agents: [],
    files: [],
    views: [],
    tables: [],
    dataSources: [],
  }
  return { version: 1, definitionsVersion: 1, ...empty, ...content }
}

/** A chat model that plays its turns in order and remembers the requests. */
export function scriptedModel(...turns: readonly (readonly (string | ToolCall)[])[]) {
  const requests: ChatRequest[] = []
  const model: ChatModel = {
    async *respond(request) {
      const turn = turns[requests.length] ?? []
      requests.push(request)
      for (const said of turn) yield deltaOf(said)
    },
  }
  return { model, requests }
}

function deltaOf(said: string | ToolCall): ChatDelta {
  return typeof said === 'string' ? { kind: 'text', text: said } : { kind: 'tool_call', call: said }
}

export function call(name: string, input = ''): ToolCall {
  return { id: `call-${name}-${input}`, name, input }
}

/** Returns one line per event, in the order of arrival. */
export function transcript(events: readonly CompletionEvent[]): readonly string[] {
  return events.map((event) => {
    if ('actions' in event) return `actions ${event.actions.map((one) => one.tool).join(' ')}`
    if ('steps' in event) return `steps ${event.steps.map((one) => one.observation).join(' ')}`
    if ('output' in event) return `output ${event.output}`
    if (event.type === 'error') return `error ${event.error_type}: ${event.content}`
    if (event.type === 'delta') return `delta ${event.content}`
    return event.type
  })
}

/** Returns the stream of one question as a client of the server receives it. */
export function streamOf(
  pool: AgentPool,
  question: AgentQuestion,
  signal = NO_SIGNAL,
  onFailure: CompletionStreamOptions['onFailure'] = () => {},
) {
  return completionStream(pool.ask(question, signal), { deltas: question.deltas, onFailure })
}

export async function collected<T>(events: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const event of events) all.push(event)
  return all
}

/** Returns the result of a tool, as the model received it. */
export function unfenced(shown: string): string {
  return /^<<<data (\w+)\n([\s\S]*)\n\1 data>>>$/m.exec(shown)?.[2] ?? shown
}
