import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { BuiltinEmbedder } from '../../src/models/builtin/builtin-embedder.ts'
import { embedderRegistry } from '../../src/models/registries/embedder-registry.ts'

/** The real models; the built-in one runs in its thread from the first text on. */
export function builtinEmbedders(): EmbedderRegistry {
  return embedderRegistry({ builtin: new BuiltinEmbedder() })
}
