import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import {
  MINI_LM_DIMENSIONS,
  MINI_LM_TOKENS_AT_ONCE,
  MINI_LM_TOKENS_MAX,
} from './embedding-protocol.ts'
import { WordPiece } from './word-piece.ts'

/** ONNX Runtime's level "error": its warnings would go to the server's standard error. */
const LOG_ERRORS_ONLY = 3

/**
 * all-MiniLM-L6-v2: mean of the attended tokens' last hidden state, then L2 normalisation.
 * Source: Reimers and Gurevych 2019 (arXiv 1908.10084), Wang et al. 2020 (arXiv 2002.10957).
 *
 * Texts are embedded one by one, never in batches: activations are quantised per call, so the other
 * texts of a batch would move a vector (by a cosine of up to 0.016), and a chunk would not be equal
 * to a query with its words. That costs nothing for chunks of 100 words, and half
 * the speed for rows of a few words.
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
      // There is a session for each core instead: threads of one wait for each other at every step.
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      logSeverityLevel: LOG_ERRORS_ONLY,
      // Spinning threads would burn a core between batches that the SQL engine needs.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
    return new MiniLm(session, new WordPiece(vocabulary))
  }

  /** Token ids of a text, as `embed` wants them: those of each part that is read at once. */
  parts(text: string): readonly (readonly number[])[] {
    return this.#wordPiece.encodeInParts(text, MINI_LM_TOKENS_MAX, MINI_LM_TOKENS_AT_ONCE)
  }

  /** The vector of one part, of length 1. The thread is blocked meanwhile: 2 to 30 ms. */
  async embed(tokens: readonly number[]): Promise<Float32Array> {
    const shape = [1, tokens.length]
    const ids = BigInt64Array.from(tokens, (id) => BigInt(id))
    const output = await this.#session.run({
      input_ids: new Tensor('int64', ids, shape),
      attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
      token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape),
    })
    const hidden = output.last_hidden_state?.data
    if (!(hidden instanceof Float32Array)) throw new Error('The model gave no last_hidden_state')
    return pooled(hidden)
  }

  /** Frees the model's memory. */
  async close(): Promise<void> {
    await this.#session.release()
  }
}

/** The mean of the tokens' states, scaled to length 1. */
function pooled(states: Float32Array): Float32Array {
  const vector = new Float32Array(MINI_LM_DIMENSIONS)
  for (let offset = 0; offset < states.length; offset += MINI_LM_DIMENSIONS) {
    for (let index = 0; index < MINI_LM_DIMENSIONS; index += 1) {
      vector[index] = (vector[index] ?? 0) + (states[offset + index] ?? 0)
    }
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? vector : vector.map((value) => value / length)
}
