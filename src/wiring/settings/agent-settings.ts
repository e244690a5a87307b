import { CHAT_PROVIDERS, COMPATIBLE_PROVIDERS } from '../../core/domain/model-ref.ts'
import {
  headerList,
  integer,
  modelPrices,
  nonEmptyText,
  oneOf,
  optionalUrl,
  providerKey,
  setting,
  textSetting,
  truth,
} from './setting-values.ts'

const DAY_SECONDS = 86_400

export const AGENT_SETTINGS = {
  agentsMax: setting('EIDER_AGENTS_MAX', {
    default: '64',
    help: 'Maximum number of questions running at once',
    parse: integer(1, 1000),
  }),
  agentQuestionsMax: setting('EIDER_AGENT_QUESTIONS_MAX', {
    default: '56',
    help: 'Maximum number of questions to one agent running at once',
    parse: integer(1, 1000),
  }),
  agentQueueMax: setting('EIDER_AGENT_QUEUE_MAX', {
    default: '100',
    help: 'Maximum number of waiting questions; more get 429 with Retry-After',
    parse: integer(0, 100_000),
  }),
  agentTimeoutSeconds: setting('EIDER_AGENT_TIMEOUT_SECONDS', {
    default: '300',
    help: "Time limit of an answer in seconds, unless the agent's params set another",
    parse: integer(1, DAY_SECONDS),
  }),
  agentStepsMax: setting('EIDER_AGENT_STEPS_MAX', {
    default: '10',
    help: "Maximum number of tool calls per answer, unless the agent's params set another",
    parse: integer(1, 100),
  }),
  agentContextTokens: setting('EIDER_AGENT_CONTEXT_TOKENS', {
    default: '0',
    help: "Context size in tokens of models without context_tokens; 0 for the model's known size, or else 32000",
    parse: integer(0, 10_000_000),
  }),
  observationBytesMax: setting('EIDER_OBSERVATION_BYTES_MAX', {
    default: '32768',
    help: 'Maximum size in bytes of a tool result that the model sees',
    parse: integer(256, 16 * 1024 * 1024),
  }),
  chatProvider: setting('EIDER_CHAT_PROVIDER', {
    default: 'builtin',
    help: 'Default provider of agents: builtin, openai, anthropic, or a short name such as ollama',
    parse: oneOf(...CHAT_PROVIDERS),
  }),
  chatModel: textSetting('EIDER_CHAT_MODEL', {
    help: 'Default model of agents; required unless the provider is builtin',
  }),
  chatBaseUrl: setting('EIDER_CHAT_BASE_URL', {
    help: 'Base URL of that provider, for example of Ollama on another machine',
    parse: optionalUrl,
  }),
  chatApiKey: textSetting('EIDER_CHAT_API_KEY', {
    isSecret: true,
    help: 'API key for that provider, unless a model has its own api_key',
  }),
  ocrProvider: setting('EIDER_OCR_PROVIDER', {
    default: 'openai',
    help: 'Provider of the model that reads scanned pages and pictures: openai, anthropic, or a short name such as ollama',
    parse: oneOf('openai', 'anthropic', ...COMPATIBLE_PROVIDERS),
  }),
  ocrModel: textSetting('EIDER_OCR_MODEL', {
    help: 'Vision model that reads scanned pages and pictures; if not set, they have no text',
  }),
  ocrBaseUrl: setting('EIDER_OCR_BASE_URL', {
    help: "Base URL of that model's server, if not the provider's own",
    parse: optionalUrl,
  }),
  ocrApiKey: textSetting('EIDER_OCR_API_KEY', {
    isSecret: true,
    help: "API key for that model, if not the provider's own",
  }),
  openaiApiKey: providerKey('OPENAI_API_KEY', 'openai'),
  openaiBaseUrl: setting('OPENAI_BASE_URL', {
    help: 'Base URL of the openai provider or of a compatible server',
    parse: optionalUrl,
  }),
  anthropicApiKey: providerKey('ANTHROPIC_API_KEY', 'anthropic'),
  anthropicBaseUrl: setting('ANTHROPIC_BASE_URL', {
    help: 'Base URL of the anthropic provider',
    parse: optionalUrl,
  }),
  geminiApiKey: providerKey('GEMINI_API_KEY', 'gemini'),
  mistralApiKey: providerKey('MISTRAL_API_KEY', 'mistral'),
  groqApiKey: providerKey('GROQ_API_KEY', 'groq'),
  deepseekApiKey: providerKey('DEEPSEEK_API_KEY', 'deepseek'),
  openrouterApiKey: providerKey('OPENROUTER_API_KEY', 'openrouter'),
  togetherApiKey: providerKey('TOGETHER_API_KEY', 'together'),
  traces: setting('EIDER_TRACES', {
    default: '1',
    help: '0: do not store runs of agents',
    parse: truth,
  }),
  tracesKeepDays: setting('EIDER_TRACES_KEEP_DAYS', {
    default: '30',
    help: 'Days to keep traces of agents',
    parse: integer(1, 36_500),
  }),
  tracesBytesMax: setting('EIDER_TRACES_BYTES_MAX', {
    default: String(256 * 1024 * 1024),
    help: 'Maximum size of all traces in bytes; beyond that, the oldest are deleted',
    parse: integer(1024 * 1024, 1024 * 1024 * 1024 * 1024),
  }),
  conversationsKeepDays: setting('EIDER_CONVERSATIONS_KEEP_DAYS', {
    default: '90',
    help: 'Days to keep a conversation after its last question',
    parse: integer(1, 36_500),
  }),
  conversationTurnsMax: setting('EIDER_CONVERSATION_TURNS_MAX', {
    default: '500',
    help: 'Maximum number of questions in a conversation; more get 409',
    parse: integer(1, 100_000),
  }),
  otlpEndpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', {
    help: "URL of an OpenTelemetry collector for each run's spans (OTLP over HTTP); Eider adds /v1/traces",
    parse: optionalUrl,
  }),
  otlpTracesEndpoint: setting('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', {
    help: 'The same for traces only, used unchanged',
    parse: optionalUrl,
  }),
  otlpProtocol: setting('OTEL_EXPORTER_OTLP_PROTOCOL', {
    help: 'Format of spans: http/json, or http/protobuf (default)',
    parse: (text) => oneOf('http/protobuf', 'http/json')(text || 'http/protobuf'),
  }),
  otlpHeaders: setting('OTEL_EXPORTER_OTLP_HEADERS', {
    isSecret: true,
    help: 'Headers for the collector, as name=value,name=value, with URL-encoded values',
    parse: headerList,
  }),
  otelServiceName: setting('OTEL_SERVICE_NAME', {
    default: 'eider',
    help: 'Name of this server in spans',
    parse: nonEmptyText,
  }),
  otelContent: setting('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', {
    default: 'false',
    help: 'true: spans include questions, answers and tool results',
    parse: (text) => /^(true|1|span_only|span_and_event)$/i.test(text),
  }),
  modelPrices: setting('EIDER_MODEL_PRICES', {
    help: 'Prices of a million tokens, for the cost of each run: JSON such as {"gpt-4.1*": {"input": 2, "output": 8, "cached": 0.5}}, or the path of a file with it',
    parse: modelPrices,
  }),
}

export const ACCESS_SETTINGS = {
  keyRequestsPerMinute: setting('EIDER_KEY_REQUESTS_PER_MINUTE', {
    default: '0',
    help: 'Requests per minute for each key without its own limit; 0 for unlimited',
    parse: integer(0, 1_000_000),
  }),
  auditKeepDays: setting('EIDER_AUDIT_KEEP_DAYS', {
    default: '365',
    help: 'Days to keep the audit log',
    parse: integer(1, 36_500),
  }),
  urlKeys: setting('EIDER_URL_KEYS', {
    default: '0',
    help: "1: allow a read-only key in a statement's URL (`GET /api/sql/query?key=…`), for programs that cannot send headers. URLs end up in histories and logs",
    parse: truth,
  }),
}
