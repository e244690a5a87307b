import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { MINI_LM_DIMENSIONS, MINI_LM_TOKENS_MAX } from './mini-lm-limits.ts'
import { WordPiece } from './word-piece.ts'

/** More threads than this gain little on a model this small. */
const THREADS_MAX = 2
/** ONNX Runtime's level "error": its warnings would go to the server's standard error. */
const LOG_ERRORS_ONLY = 3

/**
 * all-MiniLM-L6-v2: mean of the attended tokens' last hidden state, then L2 normalisation.
 * Source: Reimers and Gurevych 2019 (arXiv 1908.10084), Wang et al. 2020 (arXiv 2002.10957).
 *
 * The weights are int8 and activations are quantised per batch, so the texts of one batch move each other's vectors a
 * little (cosine to the vector alone: 0.99 and more). A text embedded alone always gives the same vector.
 */
export class MiniLm {
  readonly #session: InferenceSession
  readonly #wordPiece: WordPiece

  private constructor(session: InferenceSession, wordPiece: WordPiece) {
    this.#session = session
    this.#wordPiece = wordPiece
  }

  /** @param folder holds `model.onnx` and `vocab.txt`. */
  static async load(folder: string): Promise<MiniLm> {
    const vocabulary = await Bun.file(join(folder, 'vocab.txt')).text()
    const session = await InferenceSession.create(join(folder, 'model.onnx'), {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      intraOpNumThreads: Math.min(THREADS_MAX, availableParallelism()),
      interOpNumThreads: 1,
      logSeverityLevel: LOG_ERRORS_ONLY,
      // Spinning threads would burn a core between batches that the SQL engine needs.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
    return new MiniLm(session, new WordPiece(vocabulary))
  }

  /** Token ids of a text, as `embed` wants them. */
  tokens(text: string): readonly number[] {
    return this.#wordPiece.encode(text, MINI_LM_TOKENS_MAX)
  }

  /**
   * One vector per sequence, in their order, each of length 1. The thread is blocked meanwhile: the padded batch
   * (sequences × longest) is what it costs.
   */
  async embed(sequences: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    const tokenCount = Math.max(...sequences.map((sequence) => sequence.length))
    const shape = [sequences.length, tokenCount]
    const ids = new BigInt64Array(sequences.length * tokenCount)
    const attended = new BigInt64Array(ids.length)
    for (const [row, sequence] of sequences.entries()) {
      for (const [column, id] of sequence.entries()) {
        ids[row * tokenCount + column] = BigInt(id)
        attended[row * tokenCount + column] = 1n
      }
    }
    const output = await this.#session.run({
      input_ids: new Tensor('int64', ids, shape),
      attention_mask: new Tensor('int64', attended, shape),
      token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape),
    })
    const hidden = output.last_hidden_state?.data
    if (!(hidden instanceof Float32Array)) throw new Error('The model gave no last_hidden_state')
    const rowLength = tokenCount * MINI_LM_DIMENSIONS
    return sequences.map((sequence, row) => {
      return pooled(hidden.subarray(row * rowLength, (row + 1) * rowLength), sequence.length)
    })
  }

  /** Frees the model's memory. */
  async close(): Promise<void> {
    await this.#session.release()
  }
}

/** The mean of the first `tokenCount` states, scaled to length 1. */
function pooled(states: Float32Array, tokenCount: number): Float32Array {
  const vector = new Float32Array(MINI_LM_DIMENSIONS)
  for (let offset = 0; offset < tokenCount * MINI_LM_DIMENSIONS; offset += MINI_LM_DIMENSIONS) {
    for (let index = 0; index < MINI_LM_DIMENSIONS; index += 1) {
      vector[index] = (vector[index] ?? 0) + (states[offset + index] ?? 0)
    }
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? vector : vector.map((value) => value / length)
}
