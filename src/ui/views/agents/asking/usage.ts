import type { Trace } from '../../../api/records.ts'
import { shownCount } from '../../../components/numbers.ts'

/** Tokens in words; those that the provider had kept from before are part of what went in. */
export function usageOf(usage: Trace['usage']): string {
  if (usage === null) return 'tokens not counted'
  const kept = usage.cached_tokens > 0 ? ` (${shownCount(usage.cached_tokens)} cached)` : ''
  const { input_tokens: read, output_tokens: written } = usage
  return `${shownCount(read)} tokens in${kept}, ${shownCount(written)} out`
}
