import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { BuiltinEmbedder } from '../../src/models/builtin/builtin-embedder.ts'
import { embedderRegistry } from '../../src/models/registries/embedder-registry.ts'

const registry = embedderRegistry({ builtin: new BuiltinEmbedder() })

/** The real models. All apps of a suite share the built-in one, whose process starts with the first text. */
export function builtinEmbedders(): EmbedderRegistry {
  return registry
}
