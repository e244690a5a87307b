/** What may be said of a model beside its name, key and address, by what it is used for. */

/** What a chat request takes over as it is. */
export const OPENAI_SAMPLING = [
  'temperature',
  'top_p',
  'seed',
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
] as const

export const ANTHROPIC_SAMPLING = [
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'thinking',
] as const

export const EMBEDDING_OPTIONS = ['dimensions', 'api_version'] as const

/** `rerankOptionsOf` says what each may be. */
export const RERANKING_OPTIONS = [
  'candidates',
  'filtering_threshold',
  'num_docs_to_keep',
  'method',
  'mode',
  'max_concurrent_requests',
  'max_retries',
  'retry_delay',
  'request_timeout',
  'timeout',
  'logprobs',
  'top_logprobs',
  'max_tokens',
  'raw_scores',
  'api_version',
] as const

/** What an agent's model may be told. */
export function agentModelOptionsOf(provider: string): readonly string[] {
  const options = chatOptionsOf(provider)
  return options.length === 0 ? [] : [...options, 'context_tokens']
}

/** The built-in model has none: it only quotes. */
export function chatOptionsOf(provider: string): readonly string[] {
  if (provider === 'builtin') return []
  if (provider === 'anthropic') return [...ANTHROPIC_SAMPLING, 'max_tokens']
  return [...OPENAI_SAMPLING, 'max_tokens', 'max_completion_tokens', 'api_version']
}
