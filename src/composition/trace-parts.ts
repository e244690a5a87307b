import type { CatalogSnapshot } from '../domain/catalog-snapshot.ts'
import { SOURCE_PARAMETERS } from '../domain/flow/source-parameters.ts'
import type { ModelRef } from '../domain/model-ref.ts'
import { NO_TRACES, type RunSink, type RunTraces } from '../domain/ports/trace-ports.ts'
import type { LoggedError } from '../http/running-requests.ts'
import type { Settings } from '../settings.ts'
import type { Store } from '../store/store.ts'
import { secretsOfModel } from '../telemetry/hide-secrets.ts'
import { RunRecorder } from '../telemetry/run-recorder.ts'

interface TraceParts {
  readonly settings: Settings
  readonly store: Pick<Store, 'traces' | 'catalog'>
  readonly log: { readonly failure: (error: LoggedError) => void }
}

/** Where the runs of agents go. */
export function runTracesOf({ settings, store, log }: TraceParts): RunTraces {
  store.traces.onFailure((error) => log.failure({ requestId: 'traces', error }))
  const sinks: RunSink[] = settings.traces ? [store.traces] : []
  if (sinks.length === 0) return NO_TRACES
  return new RunRecorder({
    sinks,
    prices: settings.modelPrices,
    secrets: knownSecrets(settings, () => store.catalog.snapshot()),
    now: Date.now,
  })
}

/** What the server knows of that nobody may read: the same list as long as nothing changes. */
function knownSecrets(
  settings: Settings,
  snapshot: () => CatalogSnapshot,
): () => readonly string[] {
  const ofSettings = Object.entries(settings).flatMap(([name, value]) => {
    return /key$|password$/i.test(name) && typeof value === 'string' ? [value] : []
  })
  let version = -1
  let secrets: readonly string[] = ofSettings
  return () => {
    const current = snapshot()
    if (current.definitionsVersion !== version) {
      version = current.definitionsVersion
      secrets = [...new Set([...ofSettings, ...secretsOf(current)])]
    }
    return secrets
  }
}

function secretsOf({ agents, knowledgeBases, dataSources }: CatalogSnapshot): readonly string[] {
  const models: readonly (ModelRef | null)[] = [
    ...agents.map(({ model }) => model),
    ...knowledgeBases.flatMap(({ embeddingModel, rerankingModel }) => [
      embeddingModel,
      rerankingModel,
    ]),
  ]
  const ofSources = dataSources.flatMap(({ engine, parameters }) => {
    return SOURCE_PARAMETERS[engine]
      .filter(({ isSecret }) => isSecret)
      .map(({ name }) => String(parameters[name] ?? ''))
  })
  return [...models.flatMap((model) => (model === null ? [] : secretsOfModel(model))), ...ofSources]
}
