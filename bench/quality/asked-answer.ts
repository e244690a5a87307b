import type { EiderClient } from '../../scripts/eider-client.ts'
import type { Citation } from '../../src/core/domain/agents/completion-event.ts'

export interface AskedAnswer {
  readonly content: string
  readonly citations: readonly Citation[]
}

/** @param path the path of the agent */
export async function askAgent(
  client: EiderClient,
  path: string,
  question: string,
): Promise<AskedAnswer> {
  const answer = await client.request('POST', `${path}/completions`, {
    messages: [{ question, answer: '' }],
  })
  // The contract defines this form.
  const { message } = answer as { readonly message: AskedAnswer }
  return { content: message.content, citations: message.citations ?? [] }
}

/** Whether the quotes from the right document contain what is expected. */
export function isRight(answer: AskedAnswer, document: string, expected: RegExp): boolean {
  const isCited = answer.citations.some((citation) => citation.document_id === document)
  return isCited && expected.test(quotedText(answer.content))
}

/**
 * Returns the first quotes of an answer without Markdown and line breaks, and without its opening.
 */
export function quotedText(content: string, quotesMax = 10): string {
  const parts = content.split(/\[[^\s[\]]+:\d+of\d+:\d+to\d+\]/)
  const quotes = parts.slice(0, Math.min(parts.length - 1, quotesMax))
  const [first = '', ...rest] = quotes
  const body = [first.slice(first.indexOf('\n') + 1), ...rest].join('\n')
  return body
    .replace(/^\s*>\s?/gm, '')
    .replace(/[*`]/g, '')
    .replace(/\s+/g, ' ')
}

/** Whether an answer says that nothing fits and cites nothing. */
export function saysNothing({ content, citations }: AskedAnswer): boolean {
  return citations.length === 0 && /nothing/i.test(content)
}
