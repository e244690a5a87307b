import { COMPATIBLE_PROVIDERS } from '../../core/domain/model-ref.ts'

/** The providers of chat models. Light on purpose: the main thread needs the names and no SDK. */
export const CHAT_PROVIDERS: readonly string[] = [
  'builtin',
  'openai',
  'anthropic',
  ...COMPATIBLE_PROVIDERS,
]
