/** Where embedding models come from, as choices of a field. */
export const EMBEDDING_PROVIDERS = [
  ['builtin', 'Built in: runs here, without a key'],
  ['openai', 'OpenAI, or a server with its API'],
  ['azure_openai', 'Azure OpenAI'],
  ['gemini', 'Gemini'],
  ['mistral', 'Mistral'],
  ['openrouter', 'OpenRouter'],
  ['together', 'Together'],
  ['ollama', 'Ollama'],
  ['lmstudio', 'LM Studio'],
  ['vllm', 'vLLM'],
  ['llamacpp', 'llama.cpp'],
  ['localai', 'LocalAI'],
  ['litellm', 'LiteLLM'],
] as const
