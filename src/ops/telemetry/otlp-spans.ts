/**
 * Sends runs as OpenTelemetry spans to a collector, using the semantic conventions for generative
 * AI. Loaded only if a collector is configured.
 */
import {
  type Attributes,
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import type {
  FinishedRun,
  ModelTurn,
  TokenUsage,
  ToolStep,
} from '../../core/domain/agents/completion-event.ts'
import type { RunSink } from '../../core/domain/ports/conversation-ports.ts'
import { settlesWithin } from '../../core/runtime/cancellation.ts'

interface OtlpOptions {
  readonly url: string
  readonly protocol: 'http/json' | 'http/protobuf'
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly version: string
  /** Whether to send questions, answers and the data that tools return. */
  readonly hasContent: boolean
  /** Called when the collector starts refusing spans, again only after it has accepted some. */
  readonly onFailure: (error: Error) => void
}

/** How long to wait for the last spans when the program ends. */
const CLOSE_MS = 2_000

/** Sends spans in the background from a bounded queue, which drops spans when it is full. */
export class OtlpSpans implements RunSink {
  readonly #provider: BasicTracerProvider
  readonly #tracer: Tracer
  readonly #options: OtlpOptions
  /** The run whose spans are being created. Without a parent, its id becomes the trace id. */
  #runId = ''

  constructor(options: OtlpOptions) {
    this.#options = options
    const { url, headers, protocol } = options
    const config = { url, headers: { ...headers } }
    const exporter =
      protocol === 'http/json' ? new JsonExporter(config) : new ProtobufExporter(config)
    const random = new RandomIdGenerator()
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        'service.name': options.serviceName,
        'service.version': options.version,
      }),
      idGenerator: {
        generateTraceId: () => this.#runId.replaceAll('-', ''),
        generateSpanId: () => random.generateSpanId(),
      },
      spanProcessors: [new BatchSpanProcessor(withFailureLogged(exporter, options))],
    })
    this.#tracer = this.#provider.getTracer('eider', options.version)
  }

  keep(run: FinishedRun): void {
    this.#runId = run.traceId
    const parent = parentOf(run.traceParent)
    const root = this.#tracer.startSpan(
      `invoke_agent ${run.agentName}`,
      { kind: SpanKind.INTERNAL, startTime: run.startedAtMs, attributes: this.#runAttributes(run) },
      parent,
    )
    const within = trace.setSpan(parent, root)
    for (const turn of run.turns) this.#turn(run, turn, within)
    for (const step of run.steps) this.#step(run, step, within)
    if (run.outcome !== 'answered') {
      const { errorCode, errorMessage } = run
      root.setStatus({ code: SpanStatusCode.ERROR, message: errorMessage ?? errorCode ?? '' })
    }
    root.end(run.endedAtMs)
  }

  async close(): Promise<void> {
    await settlesWithin(this.#provider.shutdown(), CLOSE_MS)
  }

  #runAttributes(run: FinishedRun): Attributes {
    const { question, answer, conversationId, errorCode, cost } = run
    return {
      ...modelAttributes('invoke_agent', run),
      'gen_ai.agent.id': String(run.agentId),
      'gen_ai.agent.name': run.agentName,
      ...(conversationId === null ? {} : { 'gen_ai.conversation.id': conversationId }),
      ...usageAttributes(run.usage),
      ...(errorCode === null ? {} : { 'error.type': errorCode }),
      'eider.trace_id': run.traceId,
      'eider.project': run.projectName,
      'eider.purpose': run.purpose,
      'eider.outcome': run.outcome,
      ...(cost === null ? {} : { 'eider.cost': cost }),
      ...this.#content({
        'gen_ai.input.messages': messageOf('user', question),
        'gen_ai.output.messages': messageOf('assistant', answer ?? ''),
      }),
    }
  }

  #turn(run: FinishedRun, turn: ModelTurn, within: Context): void {
    const attributes: Attributes = {
      ...modelAttributes('chat', run),
      ...usageAttributes(turn.usage),
      'gen_ai.response.finish_reasons': [FINISH_REASONS[turn.finish]],
      ...(turn.firstPieceMs === null
        ? {}
        : { 'gen_ai.response.time_to_first_chunk': turn.firstPieceMs / 1000 }),
    }
    const name = `chat ${run.modelName}`
    this.#child(run, turn, { name, kind: SpanKind.CLIENT, attributes, within })
  }

  #step(run: FinishedRun, step: ToolStep, within: Context): void {
    const attributes: Attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': step.tool,
      'gen_ai.tool.type': 'function',
      ...this.#content({
        'gen_ai.tool.call.arguments': step.input,
        'gen_ai.tool.call.result': step.observation,
      }),
    }
    const name = `execute_tool ${step.tool}`
    this.#child(run, step, { name, kind: SpanKind.INTERNAL, attributes, within })
  }

  #child(
    { startedAtMs, endedAtMs }: FinishedRun,
    { startMs, tookMs }: Pick<ToolStep, 'startMs' | 'tookMs'>,
    made: {
      readonly name: string
      readonly kind: SpanKind
      readonly attributes: Attributes
      readonly within: Context
    },
  ): void {
    const startTime = Math.min(startedAtMs + startMs, endedAtMs)
    const { name, kind, attributes, within } = made
    const span = this.#tracer.startSpan(name, { kind, startTime, attributes }, within)
    span.end(Math.min(startTime + tookMs, endedAtMs))
  }

  #content(attributes: Attributes): Attributes {
    return this.#options.hasContent ? attributes : {}
  }
}

/** Provider names in the conventions, where they differ from Eider's. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  azure_openai: 'azure.ai.openai',
}

function modelAttributes(operation: string, { provider, modelName }: FinishedRun): Attributes {
  const name = PROVIDER_NAMES[provider] ?? provider
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': name,
    // The same value under its name before version 1.36 of the conventions.
    'gen_ai.system': name,
    'gen_ai.request.model': modelName,
  }
}

function usageAttributes(usage: TokenUsage | null): Attributes {
  if (usage === null) return {}
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
  }
}

const FINISH_REASONS: Readonly<Record<ModelTurn['finish'], string>> = {
  stop: 'stop',
  tool_calls: 'tool_call',
  length: 'length',
  filter: 'content_filter',
  refusal: 'content_filter',
}

function messageOf(role: 'user' | 'assistant', content: string): string {
  const message = { role, parts: [{ type: 'text', content }] }
  return JSON.stringify([role === 'user' ? message : { ...message, finish_reason: 'stop' }])
}

const TRACE_PARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/

/** An invalid `traceparent` counts as missing, as W3C Trace Context requires. */
function parentOf(traceParent: string | null): Context {
  const [, traceId = '', spanId = '', flags = ''] = TRACE_PARENT.exec(traceParent ?? '') ?? []
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
}

/** Reports only the collector's refusals; failures of the exporter itself are ignored. */
function withFailureLogged(exporter: SpanExporter, { onFailure }: OtlpOptions): SpanExporter {
  let hasFailed = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        // Code 0 means that the collector accepted the spans.
        if (result.code === 0) hasFailed = false
        else if (!hasFailed) {
          hasFailed = true
          onFailure(result.error ?? new Error('it gave no reason'))
        }
        done(result)
      })
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}
