import { CHAT_PROVIDERS, COMPATIBLE_PROVIDERS } from '../../core/domain/model-ref.ts'
import {
  headerList,
  integer,
  MB,
  modelPrices,
  nonEmptyText,
  oneOf,
  optionalUrl,
  providerKey,
  setting,
  TB,
  textSetting,
  truth,
} from './setting-values.ts'

const DAY_SECONDS = 86_400

const OCR_PROVIDERS = ['openai', 'anthropic', ...COMPATIBLE_PROVIDERS]

const spanFormat = (text: string) => oneOf('http/protobuf', 'http/json')(text || 'http/protobuf')

export const AGENT_SETTINGS = {
  agentsMax: setting('EIDER_AGENTS_MAX', 64, integer(1, 1000), {
    help: 'Maximum number of questions running at once',
  }),
  agentQuestionsMax: setting('EIDER_AGENT_QUESTIONS_MAX', 56, integer(1, 1000), {
    help: 'Maximum number of questions to one agent running at once',
  }),
  agentQueueMax: setting('EIDER_AGENT_QUEUE_MAX', 100, integer(0, 100_000), {
    help: 'Maximum number of waiting questions; more get 429 with Retry-After',
  }),
  agentTimeoutSeconds: setting('EIDER_AGENT_TIMEOUT_SECONDS', 300, integer(1, DAY_SECONDS), {
    help: "Time limit of an answer in seconds, unless the agent's params set another",
  }),
  agentStepsMax: setting('EIDER_AGENT_STEPS_MAX', 10, integer(1, 100), {
    help: "Maximum number of tool calls per answer, unless the agent's params set another",
  }),
  agentContextTokens: setting('EIDER_AGENT_CONTEXT_TOKENS', 0, integer(0, 10_000_000), {
    help: "Context size in tokens of models without context_tokens; 0 for the model's known size, or else 32000",
  }),
  observationBytesMax: setting('EIDER_OBSERVATION_BYTES_MAX', 32_768, integer(256, 16 * MB), {
    help: 'Maximum size in bytes of a tool result that the model sees',
  }),
  chatProvider: setting('EIDER_CHAT_PROVIDER', 'builtin', oneOf(...CHAT_PROVIDERS), {
    help: 'Default provider of agents: builtin, openai, anthropic, or a short name such as ollama',
  }),
  chatModel: textSetting('EIDER_CHAT_MODEL', {
    help: 'Default model of agents; required unless the provider is builtin',
  }),
  chatBaseUrl: setting('EIDER_CHAT_BASE_URL', '', optionalUrl, {
    help: 'Base URL of that provider, for example of Ollama on another machine',
  }),
  chatApiKey: textSetting('EIDER_CHAT_API_KEY', {
    isSecret: true,
    help: 'API key for that provider, unless a model has its own api_key',
  }),
  ocrProvider: setting('EIDER_OCR_PROVIDER', 'openai', oneOf(...OCR_PROVIDERS), {
    help: 'Provider of the model that reads scanned pages and pictures: openai, anthropic, or a short name such as ollama',
  }),
  ocrModel: textSetting('EIDER_OCR_MODEL', {
    help: 'Vision model that reads scanned pages and pictures; if not set, they have no text',
  }),
  ocrBaseUrl: setting('EIDER_OCR_BASE_URL', '', optionalUrl, {
    help: "Base URL of that model's server, if not the provider's own",
  }),
  ocrApiKey: textSetting('EIDER_OCR_API_KEY', {
    isSecret: true,
    help: "API key for that model, if not the provider's own",
  }),
  openaiApiKey: providerKey('OPENAI_API_KEY', 'openai'),
  openaiBaseUrl: setting('OPENAI_BASE_URL', '', optionalUrl, {
    help: 'Base URL of the openai provider or of a compatible server',
  }),
  anthropicApiKey: providerKey('ANTHROPIC_API_KEY', 'anthropic'),
  anthropicBaseUrl: setting('ANTHROPIC_BASE_URL', '', optionalUrl, {
    help: 'Base URL of the anthropic provider',
  }),
  geminiApiKey: providerKey('GEMINI_API_KEY', 'gemini'),
  mistralApiKey: providerKey('MISTRAL_API_KEY', 'mistral'),
  groqApiKey: providerKey('GROQ_API_KEY', 'groq'),
  deepseekApiKey: providerKey('DEEPSEEK_API_KEY', 'deepseek'),
  openrouterApiKey: providerKey('OPENROUTER_API_KEY', 'openrouter'),
  togetherApiKey: providerKey('TOGETHER_API_KEY', 'together'),
  traces: setting('EIDER_TRACES', '1', truth, {
    help: '0: do not store runs of agents',
  }),
  tracesKeepDays: setting('EIDER_TRACES_KEEP_DAYS', 30, integer(1, 36_500), {
    help: 'Days to keep traces of agents',
  }),
  tracesBytesMax: setting('EIDER_TRACES_BYTES_MAX', 256 * MB, integer(MB, TB), {
    help: 'Maximum size of all traces in bytes; beyond that, the oldest are deleted',
  }),
  conversationsKeepDays: setting('EIDER_CONVERSATIONS_KEEP_DAYS', 90, integer(1, 36_500), {
    help: 'Days to keep a conversation after its last question',
  }),
  conversationTurnsMax: setting('EIDER_CONVERSATION_TURNS_MAX', 500, integer(1, 100_000), {
    help: 'Maximum number of questions in a conversation; more get 409',
  }),
  otlpEndpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', '', optionalUrl, {
    help: "URL of an OpenTelemetry collector for each run's spans (OTLP over HTTP); Eider adds /v1/traces",
  }),
  otlpTracesEndpoint: setting('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '', optionalUrl, {
    help: 'The same for traces only, used unchanged',
  }),
  otlpProtocol: setting('OTEL_EXPORTER_OTLP_PROTOCOL', '', spanFormat, {
    help: 'Format of spans: http/json, or http/protobuf (default)',
  }),
  otlpHeaders: setting('OTEL_EXPORTER_OTLP_HEADERS', '', headerList, {
    isSecret: true,
    help: 'Headers for the collector, as name=value,name=value, with URL-encoded values',
  }),
  otelServiceName: setting('OTEL_SERVICE_NAME', 'eider', nonEmptyText, {
    help: 'Name of this server in spans',
  }),
  otelContent: setting(
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'false',
    (text) => /^(true|1|span_only|span_and_event)$/i.test(text),
    { help: 'true: spans include questions, answers and tool results' },
  ),
  modelPrices: setting('EIDER_MODEL_PRICES', '', modelPrices, {
    help: 'Prices of a million tokens, for the cost of each run: JSON such as {"gpt-4.1*": {"input": 2, "output": 8, "cached": 0.5}}, or the path of a file with it',
  }),
}

export const ACCESS_SETTINGS = {
  keyRequestsPerMinute: setting('EIDER_KEY_REQUESTS_PER_MINUTE', 0, integer(0, 1_000_000), {
    help: 'Requests per minute for each key without its own limit; 0 for unlimited',
  }),
  auditKeepDays: setting('EIDER_AUDIT_KEEP_DAYS', 365, integer(1, 36_500), {
    help: 'Days to keep the audit log',
  }),
  urlKeys: setting('EIDER_URL_KEYS', '0', truth, {
    help: "1: allow a read-only key in a statement's URL (`GET /api/sql/query?key=…`), for programs that cannot send headers. URLs end up in histories and logs",
  }),
}
