import type { LoggedError } from '../api/http/request/running-requests.ts'
import type { CatalogSnapshot } from '../core/domain/access/catalog-snapshot.ts'
import { secretsOfMcpServer } from '../core/domain/agents/agent.ts'
import type { FinishedRun } from '../core/domain/agents/completion-event.ts'
import { SOURCE_PARAMETERS } from '../core/domain/flow/source-parameters.ts'
import type { ModelRef } from '../core/domain/model-ref.ts'
import type { RunSink, RunTraces } from '../core/domain/ports/conversation-ports.ts'
import type { OtlpSpans } from '../ops/telemetry/otlp-spans.ts'
import {
  hideSecrets,
  RunRecorder,
  secretsOfAddress,
  secretsOfModel,
} from '../ops/telemetry/run-recorder.ts'
import type { Store } from '../store/store.ts'
import type { Settings } from './settings/settings.ts'

interface TraceParts {
  readonly settings: Settings
  readonly version: string
  readonly store: Pick<Store, 'traces' | 'catalog'>
  readonly log: { readonly failure: (error: LoggedError) => void }
  readonly counter: RunSink
}

export function runTracingOf(parts: TraceParts): {
  readonly traces: RunTraces
  /** Call after the last question. */
  close(): Promise<void>
} {
  const { settings, store, log, counter } = parts
  store.traces.onFailure((error) => log.failure({ requestId: 'traces', error }))
  const collector = collectorOf(parts)
  const sinks: RunSink[] = settings.traces ? [counter, store.traces] : [counter]
  if (collector !== null) sinks.push(collector)
  const traces = new RunRecorder({
    sinks,
    prices: settings.modelPrices,
    secrets: knownSecrets(settings, () => store.catalog.snapshot()),
    now: Date.now,
  })
  return { traces, close: async () => collector?.close() }
}

/** The delay after startup before loading OpenTelemetry, which takes a seventh of a second. */
const LOAD_MS = 200

function collectorOf({ settings, version, log }: TraceParts) {
  const url = tracesAddress(settings)
  if (url === null) return null
  const { otlpHeaders: headers, otlpProtocol: protocol } = settings
  const { otelServiceName: serviceName, otelContent: hasContent } = settings
  const onFailure = ({ message }: Error) => {
    const hide = hideSecrets([...Object.values(headers), ...secretsOfAddress(url)])
    const error = new Error(`The OpenTelemetry collector does not take spans: ${hide(message)}`)
    log.failure({ requestId: 'telemetry', error })
  }
  let spans: Promise<OtlpSpans> | undefined
  const loaded = () => {
    spans ??= import('../ops/telemetry/otlp-spans.ts').then((module) => {
      const names = { serviceName, version }
      return new module.OtlpSpans({ url, protocol, headers, hasContent, onFailure, ...names })
    })
    return spans
  }
  const loading = setTimeout(() => void loaded().catch(onFailure), LOAD_MS)
  loading.unref()
  return {
    keep: (run: FinishedRun) => {
      void loaded()
        .then((sink) => sink.keep(run))
        .catch(onFailure)
    },
    close: async () => {
      clearTimeout(loading)
      await (await spans?.catch(() => undefined))?.close()
    },
  }
}

function tracesAddress({ otlpEndpoint, otlpTracesEndpoint }: Settings): string | null {
  if (otlpTracesEndpoint !== undefined) return otlpTracesEndpoint
  if (otlpEndpoint === undefined) return null
  return `${otlpEndpoint.replace(/\/+$/, '')}/v1/traces`
}

/** Secrets to remove from traces. The same list is returned until a secret changes. */
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
  const ofServers = agents.flatMap(({ data }) => (data?.mcp ?? []).flatMap(secretsOfMcpServer))
  const ofModels = models.flatMap((model) => (model === null ? [] : secretsOfModel(model)))
  return [...ofModels, ...ofSources, ...ofServers]
}
