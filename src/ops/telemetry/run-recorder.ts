import type {
  FinishedRun,
  ModelTurn,
  RunEnd,
  RunStart,
  TokenUsage,
  ToolStep,
} from '../../core/domain/agents/completion-event.ts'
import {
  BUILTIN_PROVIDER,
  HIDDEN,
  type ModelRef,
  withoutMarkedCredentials,
} from '../../core/domain/model-ref.ts'
import type { RunSink, RunTrace, RunTraces } from '../../core/domain/ports/conversation-ports.ts'
import { shortened, uriDecoded } from '../../core/short-text.ts'

interface RunRecorderOptions {
  readonly sinks: readonly RunSink[]
  readonly prices: readonly ModelPrice[]
  /** All keys and passwords known to the server: of models, data sources and logins. */
  readonly secrets: () => readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const RECORDED_CHARS_MAX = {
  question: 8_000,
  answer: 32_000,
  input: 8_000,
  observation: 8_000,
  reasoning: 8_000,
  message: 2_000,
  quote: 2_000,
}

/** The most entries recorded per run. A warning says how many were left out. */
const ENTRIES_MAX = 100

/** Collects the events of a run. At its end, passes them on with the cost and without secrets. */
export class RunRecorder implements RunTraces {
  readonly #options: RunRecorderOptions

  constructor(options: RunRecorderOptions) {
    this.#options = options
  }

  begin(start: RunStart): RunTrace {
    const { now, sinks } = this.#options
    const startedAtMs = now()
    const turns: ModelTurn[] = []
    const steps: ToolStep[] = []
    let isOver = false
    return {
      turn(turn) {
        if (!isOver) turns.push(turn)
      },
      step(step) {
        if (!isOver) steps.push(boundedStep(step))
      },
      end: (end) => {
        if (isOver) return
        isOver = true
        const run = this.#finished({ start, startedAtMs, turns, steps }, end)
        for (const sink of sinks) sink.keep(run)
      },
    }
  }

  #finished(
    given: {
      readonly start: RunStart
      readonly startedAtMs: number
      readonly turns: readonly ModelTurn[]
      readonly steps: readonly ToolStep[]
    },
    end: RunEnd,
  ): FinishedRun {
    const { start, startedAtMs, turns, steps } = given
    const { prices, secrets, now } = this.#options
    const { model, ...known } = start
    const hide = hideSecrets([...secretsOfModel(model), ...secrets()])
    const shown = (text: string, charsMax: number) => cut(hide(text), charsMax)
    const leftOut =
      Math.max(0, turns.length - ENTRIES_MAX) + Math.max(0, steps.length - ENTRIES_MAX)
    const warnings = end.warnings.slice(0, ENTRIES_MAX)
    if (leftOut > 0) warnings.push(`${leftOut} steps of this run were not kept`)
    return {
      ...known,
      ...end,
      provider: model.provider,
      modelName: hide(model.modelName),
      question: shown(start.question, RECORDED_CHARS_MAX.question),
      conversationId: start.conversationId && hide(start.conversationId),
      answer: end.answer === null ? null : shown(end.answer, RECORDED_CHARS_MAX.answer),
      errorMessage:
        end.errorMessage === null ? null : shown(end.errorMessage, RECORDED_CHARS_MAX.message),
      warnings: warnings.map((warning) => shown(warning, RECORDED_CHARS_MAX.message)),
      citations: end.citations.slice(0, ENTRIES_MAX).map((citation) => {
        return { ...citation, text: shown(citation.text, RECORDED_CHARS_MAX.quote) }
      }),
      startedAtMs,
      endedAtMs: Math.max(startedAtMs, now()),
      turns: turns.slice(0, ENTRIES_MAX).map((turn) => {
        return { ...turn, reasoning: shown(turn.reasoning, RECORDED_CHARS_MAX.reasoning) }
      }),
      steps: steps.slice(0, ENTRIES_MAX).map((step) => shownStep(step, hide)),
      usage: summedUsage(turns),
      cost: costOf(model, turns, prices),
    }
  }
}

/** How many characters beyond the limit are examined, to find secrets that the limit cuts off. */
const SEEN_CHARS = 1_000

/** Keeps only the recorded part of each tool result, to save memory. */
function boundedStep(step: ToolStep): ToolStep {
  const { input, observation } = step
  return {
    ...step,
    input: input.slice(0, RECORDED_CHARS_MAX.input + SEEN_CHARS),
    observation: observation.slice(0, RECORDED_CHARS_MAX.observation + SEEN_CHARS),
  }
}

function shownStep(step: ToolStep, hide: HideSecrets): ToolStep {
  return {
    ...step,
    tool: cut(hide(step.tool), 200),
    input: cut(hide(step.input), RECORDED_CHARS_MAX.input),
    observation: cut(hide(step.observation), RECORDED_CHARS_MAX.observation),
  }
}

/** Truncates a text for the database, without splitting a character, and removes zero bytes. */
function cut(text: string, charsMax: number): string {
  const plain = text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
  return shortened(plain, charsMax).toWellFormed()
}

function summedUsage(turns: readonly ModelTurn[]): TokenUsage | null {
  const counted = turns.flatMap(({ usage }) => usage ?? [])
  if (counted.length === 0) return null
  const sum = (of: (usage: TokenUsage) => number) => {
    return counted.reduce((total, usage) => total + of(usage), 0)
  }
  return {
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
  }
}

/** Prices per million tokens, in the currency of the price table. */
export interface ModelPrice {
  /** Matches the model name or `provider/name`; `*` matches anything. */
  readonly pattern: string
  readonly input: number
  readonly output: number
  /** The price of cached input tokens. */
  readonly cached: number
}

const MILLION = 1_000_000

export function costOf(
  { provider, modelName }: Pick<ModelRef, 'provider' | 'modelName'>,
  turns: readonly Pick<ModelTurn, 'usage'>[],
  prices: readonly ModelPrice[],
): number | null {
  if (provider === BUILTIN_PROVIDER) return 0
  const price = prices.find(({ pattern }) => {
    return fitsPattern(pattern, modelName) || fitsPattern(pattern, `${provider}/${modelName}`)
  })
  if (price === undefined) return null
  let cost = 0
  for (const { usage } of turns) {
    if (usage === null) return null
    const { inputTokens, outputTokens, cachedTokens } = usage
    const cached = Math.min(cachedTokens, inputTokens)
    cost +=
      (inputTokens - cached) * price.input + cached * price.cached + outputTokens * price.output
  }
  return cost / MILLION
}

function fitsPattern(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map(escapedPattern)
  return new RegExp(`^${parts.join('.*')}$`, 'is').test(name)
}

type HideSecrets = (text: string) => string

/** Shorter secrets are not removed, because they could be ordinary words. */
const HIDDEN_CHARS_MIN = 6

/** Removes these secrets, in any case and as encoded in a URL, and all that is marked as secret. */
export function hideSecrets(secrets: readonly string[]): HideSecrets {
  const known = knownPattern(secrets)
  return (text) => withoutMarkedCredentials(known === null ? text : text.replace(known, HIDDEN))
}

function knownPattern(secrets: readonly string[]): RegExp | null {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < HIDDEN_CHARS_MIN) continue
    // The secret as it is, as written in JSON, and as encoded in a URL.
    forms
      .add(secret)
      .add(JSON.stringify(secret).slice(1, -1))
      .add(encodeURIComponent(secret.toWellFormed()))
  }
  if (forms.size === 0) return null
  // Longest first, because one secret may be a prefix of another.
  const patterns = [...forms].sort((one, other) => other.length - one.length).map(escapedPattern)
  return new RegExp(patterns.join('|'), 'gi')
}

function escapedPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

export function secretsOfModel({ apiKey, baseUrl, options }: ModelRef): readonly string[] {
  const secrets = Object.entries(options).flatMap(secretOption)
  return [apiKey ?? '', ...secrets, ...secretsOfAddress(baseUrl ?? '')]
}

export function secretsOfAddress(address: string): readonly string[] {
  if (!URL.canParse(address)) return []
  const { username, password, searchParams } = new URL(address)
  const sent = [...searchParams.values()].filter((text) => text.length >= LONG_CHARS)
  return [username, password, uriDecoded(password), ...sent]
}

/** A shorter URL parameter is usually a version or something similar, not a secret. */
const LONG_CHARS = 16

function secretOption([name, value]: [string, unknown]): readonly string[] {
  return typeof value === 'string' && /key|token|secret|password|auth/i.test(name) ? [value] : []
}
