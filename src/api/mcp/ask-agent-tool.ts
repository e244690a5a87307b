import { askerOf } from '../../core/domain/access/principal.ts'
import {
  type Action,
  type Citation,
  EVIDENCE_LEVELS,
  type OutputEvent,
} from '../../core/domain/agents/completion-event.ts'
import { answers, type Tool, type ToolCall, takes } from './tool.ts'
import { documentUri, linkOf, namedAmong, visibleData } from './visible-data.ts'

const QUESTION_CHARS_MAX = 100_000
const PROGRESS_CHARS_MAX = 300

export const ASK_AGENT_TOOL: Tool = {
  name: 'ask_agent',
  title: 'Ask an agent',
  description:
    'Asks an agent of this server a question in plain language. It searches its knowledge bases and tables and answers with citations. ' +
    'That takes seconds to minutes; its steps are reported as progress. list_data lists the agents. ' +
    'For follow-ups, send conversation_id: "new" with the first question, then the conversation_id from the answer.',
  needs: 'ask',
  // An agent may call tools of external servers.
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  },
  inputSchema: takes(['agent', 'question'], {
    agent: {
      type: 'string',
      minLength: 1,
      description: '"project.name"; a name alone means the default project',
    },
    question: { type: 'string', minLength: 1, maxLength: QUESTION_CHARS_MAX },
    conversation_id: {
      type: 'string',
      description: '"new", or the id of a conversation to continue; without it, nothing is stored',
    },
  }),
  outputSchema: answers(['answer', 'citations', 'trace_id'], {
    answer: { type: 'string' },
    evidence: {
      enum: EVIDENCE_LEVELS,
      description: '`closest`: the best passage may not answer; `none`: no answer was found',
    },
    citations: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string', description: 'For fetch' },
          knowledge_base: { type: 'string' },
          document_id: { type: 'string' },
          url: { type: 'string' },
          text: { type: 'string', description: 'The quote' },
          page: { type: ['integer', 'null'] },
          heading: { type: ['string', 'null'] },
        },
        required: ['knowledge_base', 'document_id', 'text'],
      },
    },
    statements: {
      type: 'array',
      items: { type: 'string' },
      description: 'SQL statements behind the answer',
    },
    conversation_id: { type: 'string' },
    trace_id: { type: 'string' },
    warnings: { type: 'array', items: { type: 'string' } },
  }),
  async run(sent, call) {
    const { uses, principal, signal } = call
    const { agents } = visibleData(call)
    const agent = namedAmong(agents, { named: sent.text('agent'), kind: 'agent', principal })
    const conversationId = sent.optionalText('conversation_id')
    const question = {
      agent,
      question: sent.text('question'),
      history: [],
      asker: askerOf(principal),
      deltas: false as const,
      ...(conversationId === undefined ? {} : { conversationId }),
    }
    let output: OutputEvent | undefined
    for await (const event of uses.agents.ask(question, signal)) {
      if ('actions' in event) call.progress(event.actions.map(actionText).join('; '))
      if ('output' in event) output = event
    }
    signal.throwIfAborted()
    if (output === undefined) throw new Error('an agent gave no output')
    const structured = answerRecord(output, call)
    return { structured, text: answerText(structured) }
  },
}

function actionText({ tool, tool_input }: Action): string {
  return `${tool}: ${tool_input}`
    .replaceAll(/\s+/g, ' ')
    .slice(0, PROGRESS_CHARS_MAX)
    .toWellFormed()
}

function answerRecord(output: OutputEvent, call: ToolCall) {
  const statements = (output.statements ?? []).map(({ sql }) => sql)
  return {
    answer: output.output,
    evidence: output.evidence,
    citations: output.citations.map((citation) => citationRecord(citation, call)),
    ...(statements.length === 0 ? {} : { statements }),
    ...(output.conversation_id === undefined ? {} : { conversation_id: output.conversation_id }),
    trace_id: output.trace_id,
    ...(output.warnings.length === 0 ? {} : { warnings: output.warnings }),
  }
}

/** Documents the principal may not read are cited without a URL. */
function citationRecord(citation: Citation, call: ToolCall) {
  const { knowledge_base, document_id: id, text, page, heading } = citation
  const { knowledgeBases } = visibleData(call)
  const kb = knowledgeBases.find(({ projectName, name }) => {
    return `${projectName}.${name}` === knowledge_base
  })
  const address =
    kb === undefined
      ? {}
      : {
          id: documentUri(kb.projectName, kb.name, id),
          url: linkOf(call.origin, kb, { id, metadata: {} }),
        }
  return { ...address, knowledge_base, document_id: id, text, page, heading }
}

function answerText({ answer, citations, ...said }: ReturnType<typeof answerRecord>): string {
  const sources = citations.map(({ knowledge_base, document_id, text, page }, index) => {
    const where = page === null ? '' : `, page ${page}`
    return `[${index + 1}] ${knowledge_base} / ${document_id}${where}: "${text}"`
  })
  const parts = [
    answer,
    ...(sources.length === 0 ? [] : [`Sources:\n${sources.join('\n')}`]),
    ...(said.statements === undefined ? [] : [`SQL:\n${said.statements.join('\n')}`]),
    ...(said.warnings === undefined ? [] : [`Warnings: ${said.warnings.join('; ')}`]),
    ...(said.conversation_id === undefined ? [] : [`conversation_id: ${said.conversation_id}`]),
  ]
  return parts.join('\n\n')
}
