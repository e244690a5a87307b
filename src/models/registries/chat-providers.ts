import { COMPATIBLE_PROVIDERS } from '../../core/domain/model-ref.ts'

/** The providers of chat models. Deliberately light: the main thread needs the names and no SDK. */
export const CHAT_PROVIDERS: readonly string[] = [
  'builtin',
  'openai',
  'anthropic',
  ...COMPATIBLE_PROVIDERS,
]
