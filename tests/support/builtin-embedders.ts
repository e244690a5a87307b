import type { Embedder, EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { BuiltinEmbedder } from '../../src/models/builtin/builtin-embedder.ts'
import { embedderRegistry } from '../../src/models/registries/embedder-registry.ts'

const registry = embedderRegistry({ builtin: remembering(new BuiltinEmbedder()) })

/** The real models. All apps of a suite share the built-in one, whose process starts with the first text. */
export function builtinEmbedders(): EmbedderRegistry {
  return registry
}

/** A text that several apps or knowledge bases hold is embedded once. */
function remembering(embedder: Embedder): Embedder {
  const known = new Map<string, Float32Array>()
  return {
    async embed(texts, signal) {
      const added = [...new Set(texts)].filter((text) => !known.has(text))
      const vectors = added.length === 0 ? [] : await embedder.embed(added, signal)
      for (const [index, vector] of vectors.entries()) known.set(added[index] ?? '', vector)
      return texts.map((text) => known.get(text) ?? new Float32Array())
    },
  }
}
