import { COMPATIBLE_PROVIDERS } from '../../core/domain/model-ref.ts'

/** The providers of chat models. Imports no SDK, because the main thread needs only the names. */
export const CHAT_PROVIDERS: readonly string[] = [
  'builtin',
  'openai',
  'anthropic',
  ...COMPATIBLE_PROVIDERS,
]
