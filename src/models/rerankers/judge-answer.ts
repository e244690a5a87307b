import { member } from '../member.ts'

/** What a chat model said to a prompt, as far as a judgment needs it. */
export interface JudgeAnswer {
  /** Without the thoughts that some models put before it. */
  readonly text: string
  /** Whether the limit of tokens ended it. */
  readonly isCut: boolean
  /** Its first tokens with their alternatives; null where the server gives no probabilities. */
  readonly tokens: readonly AnswerToken[] | null
}

export interface AnswerToken {
  readonly text: string
  /** Of the token itself and of what the model might have said in its place. */
  readonly choices: readonly TokenChoice[]
}

export interface TokenChoice {
  readonly text: string
  /** In [0, 1]. */
  readonly probability: number
}

/** A judgment is a word: whatever comes later is none. */
const TOKENS_READ_MAX = 32
const TEXT_CHARS_MAX = 20_000

/**
 * Reads an answer with distrust: what is missing or of another shape is nothing.
 * @throws Error for what is no chat completion at all
 */
export function judgeAnswerOf(answer: unknown): JudgeAnswer {
  const choice = member(member(answer, 'choices'), '0')
  if (choice === undefined) throw new Error('the answer is no chat completion')
  const content = member(member(choice, 'message'), 'content')
  return {
    text: typeof content === 'string' ? withoutThoughts(content) : '',
    isCut: member(choice, 'finish_reason') === 'length',
    tokens: tokensOf(member(member(choice, 'logprobs'), 'content')),
  }
}

/** Models that think aloud put it between tags; one that was cut there has not answered. */
function withoutThoughts(text: string): string {
  const answer = text.slice(0, TEXT_CHARS_MAX).split('</think>').at(-1) ?? ''
  return answer.includes('<think>') ? '' : answer.trim()
}

function tokensOf(content: unknown): readonly AnswerToken[] | null {
  if (!Array.isArray(content) || content.length === 0) return null
  return content.slice(0, TOKENS_READ_MAX).map((entry) => {
    const own = choiceOf(entry)
    const listed = member(entry, 'top_logprobs')
    const others = Array.isArray(listed) ? listed.map(choiceOf) : []
    const text = own?.text ?? ''
    const isListed = others.some((other) => other?.text === text)
    const choices = [...(isListed ? [] : [own]), ...others].filter((one) => one !== null)
    return { text, choices }
  })
}

function choiceOf(entry: unknown): TokenChoice | null {
  const text = member(entry, 'token')
  const logprob = member(entry, 'logprob')
  if (typeof text !== 'string' || typeof logprob !== 'number') return null
  const probability = Math.exp(logprob)
  // Rounding puts a certain token a little above 1.
  return Number.isNaN(probability) ? null : { text, probability: Math.min(1, probability) }
}
