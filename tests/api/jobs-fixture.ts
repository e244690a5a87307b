/** Jobs as clients see them, and models whose calls wait until the test continues them. */
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { type TestApp, wordEmbedders } from '../support/test-app.ts'

export interface JobBody {
  readonly id: number
  readonly state: string
  readonly rows: number
  readonly documents: number
  readonly chunks: number
  readonly total: number | null
  readonly embedded_chunks: number | null
  readonly error: string | null
  readonly errors: readonly { readonly item: string; readonly message: string }[]
  readonly error_count: number
}

export function csvOf(count: number): FormData {
  const lines = rowsOf(count).map(({ id, content }) => `${id},${content}`)
  const form = new FormData()
  form.set('file', new File([['id,content', ...lines].join('\n')], 'leaves.csv'))
  return form
}

export function rowsOf(
  count: number,
): readonly { readonly id: string; readonly content: string }[] {
  return Array.from({ length: count }, (_, index) => {
    return { id: `tea ${index}`, content: `tea number ${index} from garden ${index % 7}` }
  })
}

export async function endOf({ id }: Pick<JobBody, 'id'>, of: TestApp): Promise<JobBody> {
  // The stream ends with the job.
  await of.send('GET', `/api/jobs/${id}/events`)
  return (await of.send('GET', `/api/jobs/${id}`)).body as JobBody
}

/**
 * The first call returns at once, the others when the test lets them.
 * @param isHeld chooses which calls wait
 */
export function gatedEmbedders(isHeld?: (texts: readonly string[]) => boolean) {
  const gate = Promise.withResolvers<void>()
  let count = 0
  const waiting: { readonly count: number; resolve(): void }[] = []
  const embedder = wordEmbedders.embedder({ provider: 'builtin', modelName: 'words', options: {} })
  const embedders: EmbedderRegistry = {
    ...wordEmbedders,
    embedder: () => ({
      embed: async (texts, signal) => {
        count += 1
        for (const one of waiting) if (count >= one.count) one.resolve()
        if (isHeld?.(texts) ?? count > 1) await Promise.race([gate.promise, aborted(signal)])
        return embedder.embed(texts, signal)
      },
    }),
  }
  return {
    embedders,
    open: gate.resolve,
    entered: (calls: number) => {
      return new Promise<void>((resolve) => {
        if (count >= calls) resolve()
        else waiting.push({ count: calls, resolve })
      })
    },
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason ?? new AppError('cancelled', 'cancelled'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
