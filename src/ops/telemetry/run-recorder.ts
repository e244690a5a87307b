import type {
  FinishedRun,
  ModelTurn,
  RunEnd,
  RunStart,
  TokenUsage,
  ToolStep,
} from '../../core/domain/agents/agent-run.ts'
import type { RunSink, RunTrace, RunTraces } from '../../core/domain/ports/conversation-ports.ts'
import { shortened } from '../../core/short-text.ts'
import { type HideSecrets, hideSecrets, secretsOfModel } from './hide-secrets.ts'
import { costOf, type ModelPrice } from './model-prices.ts'

export interface RunRecorderOptions {
  readonly sinks: readonly RunSink[]
  readonly prices: readonly ModelPrice[]
  /** Keys and passwords known to the server: of all models, data sources and the login. */
  readonly secrets: () => readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** For each recorded text. */
const RECORDED_CHARS_MAX = {
  question: 8_000,
  answer: 32_000,
  input: 8_000,
  observation: 8_000,
  reasoning: 8_000,
  message: 2_000,
  quote: 2_000,
}

/** Per run; later entries are counted in a warning. */
const ENTRIES_MAX = 100

/** Collects the events of a run and passes them on at its end: bounded, without secrets, with the cost. */
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

/** To find a secret cut by a limit, this many more characters are examined than kept. */
const SEEN_CHARS = 1_000

/** Of each tool's answer, only the recorded part stays in memory. */
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

/** For the database: no half characters, no zero bytes. */
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
