/** Records what searches found for questions, so that answers can be tried without a server. */
import type { EiderClient } from '../../scripts/eider-client.ts'
import { PROJECT } from '../scenario.ts'
import type { AnswerCase, AskedQuestion } from './answer-cases.ts'

/** A chunk as `/search` returns it. */
export interface FoundChunk {
  readonly id: string
  readonly chunk_id: string
  readonly chunk_content: string
  readonly relevance: number
  readonly distance: number | null
}

export interface RecordedCase extends Omit<AnswerCase, 'questions'> {
  readonly questions: readonly (AskedQuestion & { readonly found: readonly FoundChunk[] })[]
}

/** More than an answer uses. */
const RECORDED_CHUNKS = 20

export async function recordedCase(
  client: EiderClient,
  { questions, ...rest }: AnswerCase,
): Promise<RecordedCase> {
  const recorded: RecordedCase['questions'][number][] = []
  for (const question of questions) {
    const body = { query: question.text, k: RECORDED_CHUNKS, columns: [] }
    const path = `${PROJECT}/knowledge_bases/${rest.knowledgeBase}/search`
    const answer = await client.request('POST', path, body)
    // The contract defines this form.
    const { results } = answer as { readonly results: readonly FoundChunk[] }
    const found = results.map(({ id, chunk_id, chunk_content, relevance, distance }) => {
      return { id, chunk_id, chunk_content, relevance, distance }
    })
    recorded.push({ ...question, found })
  }
  return { ...rest, questions: recorded }
}
