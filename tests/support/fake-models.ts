import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import type { AppError } from '../../src/core/errors.ts'

interface Gate {
  batchesBefore: number
  readonly reached: PromiseWithResolvers<void>
  readonly open: PromiseWithResolvers<void>
}

/**
 * Models whose names contain the vector length, such as `small-3`. A test can make their batches
 * wait or fail.
 */
export class FakeModels {
  readonly asked = new Map<string, string[]>()
  readonly crashing = new Map<string, Error>()
  readonly failing = new Map<string, AppError>()
  /** Lengths that differ from those in the names. */
  readonly lengths = new Map<string, number>()
  readonly unreachable = new Set<string>()
  /** Resolves with each batch of a model that is held, which goes on when it is let go. */
  readonly #gates = new Map<string, Gate>()

  /** Makes the model's batches wait, except for the first ones. */
  hold(model: string, batchesBefore = 0): { readonly reached: Promise<void>; letGo(): void } {
    const gate = {
      batchesBefore,
      reached: Promise.withResolvers<void>(),
      open: Promise.withResolvers<void>(),
    }
    this.#gates.set(model, gate)
    const letGo = () => {
      this.#gates.delete(model)
      gate.open.resolve()
    }
    return { reached: gate.reached.promise, letGo }
  }

  registry(): EmbedderRegistry {
    return {
      providers: ['builtin', 'openai'],
      probe: async ({ modelName }) => {
        const failure = this.failing.get(modelName)
        if (failure?.code === 'provider_refused') throw failure
        if (this.unreachable.has(modelName)) {
          return {
            kind: 'unreachable',
            warning: 'The embedding model could not be tested: it slept',
          }
        }
        return { kind: 'ready', dimensions: this.#lengthOf(modelName) }
      },
      embedder: ({ modelName }) => ({
        embed: async (texts, signal) => {
          await this.#passed(modelName, signal)
          const failure = this.failing.get(modelName)
          if (failure !== undefined) throw failure
          const crash = this.crashing.get(modelName)
          if (crash !== undefined) throw crash
          this.asked.set(modelName, [...(this.asked.get(modelName) ?? []), ...texts])
          return texts.map((text) => vectorOf(text, modelName, this.#lengthOf(modelName)))
        },
      }),
    }
  }

  async #passed(model: string, signal: AbortSignal): Promise<void> {
    const gate = this.#gates.get(model)
    if (gate === undefined) return
    gate.batchesBefore -= 1
    if (gate.batchesBefore >= 0) return
    gate.reached.resolve()
    await untilOpen(gate.open.promise, signal)
  }

  #lengthOf(model: string): number {
    return this.lengths.get(model) ?? Number(model.split('-')[1])
  }
}

function untilOpen(open: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return Promise.race([open, promise])
}

/**
 * Returns a vector for a text with the number n: the unit vector at n degrees, turned by an angle
 * that depends on the model's name.
 */
function vectorOf(text: string, modelName: string, length: number): Float32Array {
  const turn = [...modelName].reduce((sum, char) => sum + (char.codePointAt(0) ?? 0), 0)
  const angle = ((Number(/\d+/.exec(text)?.[0] ?? 0) + turn) * Math.PI) / 180
  const vector = new Float32Array(length)
  vector[0] = Math.cos(angle)
  vector[1] = Math.sin(angle)
  return vector
}
